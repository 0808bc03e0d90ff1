package sqlite

import "time"

// clock tells the two times of the store.
type clock struct {
	now   func() time.Time
	start time.Time
}

func newClock(now func() time.Time) clock {
	return clock{now: now, start: now()}
}

// read returns lease time and wall time in microseconds. Lease time is the
// start plus the monotonic distance from it, where now gives one.
func (c clock) read() (lease, wall int64) {
	now := c.now()
	return c.start.UnixMicro() + now.Sub(c.start).Microseconds(), now.UnixMicro()
}

// micros is how a time is stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// instant reads what micros wrote.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// span reads a stored duration.
func span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
