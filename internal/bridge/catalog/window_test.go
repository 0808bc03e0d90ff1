package catalog_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/bridge/catalog"
)

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// R-BRIDGE-10
func TestAWindowIsACalendarPeriodInUTC(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window         catalog.Window
		at, start, end string
	}{
		"within an hour":                          {catalog.Hour, "2026-12-01T10:59:59Z", "2026-12-01T10:00:00Z", "2026-12-01T11:00:00Z"},
		"the first moment of an hour":             {catalog.Hour, "2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z", "2026-12-01T11:00:00Z"},
		"an hour of a clock half an hour on":      {catalog.Hour, "2026-12-01T10:15:00+05:30", "2026-12-01T04:00:00Z", "2026-12-01T05:00:00Z"},
		"a day that is another one there":         {catalog.Day, "2026-12-02T01:00:00+11:00", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"},
		"the last day of a year":                  {catalog.Day, "2026-12-31T23:59:59Z", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"},
		"a month of 28 days":                      {catalog.Month, "2027-02-10T00:00:00Z", "2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z"},
		"a leap month":                            {catalog.Month, "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		"the last month of a year":                {catalog.Month, "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		"a month that has begun here, not in UTC": {catalog.Month, "2027-01-01T09:00:00+11:00", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		start, end := c.window.Bounds(moment(t, c.at))
		if !start.Equal(moment(t, c.start)) || !end.Equal(moment(t, c.end)) {
			t.Errorf("%s: got %v to %v", name, start, end)
		}
	}
}

// R-BRIDGE-10
func TestWindowsCoverTimeWithoutGapsOrOverlaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom([]catalog.Window{catalog.Hour, catalog.Day, catalog.Month}).Draw(t, "window")
		zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "offset"))
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).In(zone)
		start, end := w.Bounds(at)
		if start.After(at) || !at.Before(end) {
			t.Fatalf("%v is not within %v to %v", at, start, end)
		}
		for _, inside := range []time.Time{start, end.Add(-1)} {
			if s, e := w.Bounds(inside); !s.Equal(start) || !e.Equal(end) {
				t.Fatalf("%v lies in %v to %v, and %v in %v to %v", at, start, end, inside, s, e)
			}
		}
		if s, _ := w.Bounds(end); !s.Equal(end) {
			t.Fatalf("the window after %v begins at %v", end, s)
		}
	})
}

// R-BRIDGE-5
func TestATenantIsAdmittedWhileItIsActiveAndSubscribed(t *testing.T) {
	t.Parallel()
	now := moment(t, "2026-12-01T12:00:00Z")
	past, future := now.Add(-time.Hour), now.Add(time.Hour)
	for name, c := range map[string]struct {
		suspended    time.Time
		subscription catalog.Subscription
		want         error
	}{
		"an open subscription":                {time.Time{}, catalog.Subscription{StartsAt: past}, nil},
		"one that ends later":                 {time.Time{}, catalog.Subscription{StartsAt: past, EndsAt: future}, nil},
		"one that starts now":                 {time.Time{}, catalog.Subscription{StartsAt: now}, nil},
		"one that ends now":                   {time.Time{}, catalog.Subscription{StartsAt: past, EndsAt: now}, catalog.ErrInactive},
		"one that is over":                    {time.Time{}, catalog.Subscription{StartsAt: past.Add(-time.Hour), EndsAt: past}, catalog.ErrInactive},
		"one that starts later":               {time.Time{}, catalog.Subscription{StartsAt: future}, catalog.ErrInactive},
		"none":                                {time.Time{}, catalog.Subscription{}, catalog.ErrInactive},
		"suspended, with a subscription":      {past, catalog.Subscription{StartsAt: past}, catalog.ErrSuspended},
		"suspended, and none: the first wins": {past, catalog.Subscription{}, catalog.ErrSuspended},
	} {
		st := catalog.Standing{Tenant: catalog.Tenant{SuspendedAt: c.suspended}, Subscription: c.subscription}
		if err := st.Admits(now); err != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
