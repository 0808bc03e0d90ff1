package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/store"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// hold keeps the writer busy until release is called, so that a test decides
// what is waiting when the next batch is taken.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.exclusively(context.WithoutCancel(t.Context()), func(*sql.Conn) error { close(held); <-free; return nil }); err != nil {
			t.Errorf("hold: %v", err)
		}
	})
	<-held
	return func() { close(free); done.Wait() }
}

// enqueue puts an operation in the queue and returns where its answer comes.
func enqueue(t *testing.T, s *Store, l lane, part func(*tx) error) chan error {
	t.Helper()
	o := &operation{part: part, done: make(chan error, 1)}
	if err := s.writer.enqueue(l, o); err != nil {
		t.Fatal(err)
	}
	return o.done
}

// note writes a row that says that the operation was here.
func note(name string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.exec(`INSERT INTO stop_switch (tenant, stopped, reason, who, at) VALUES (?, 0, '', '', 0)`, name)
		return err
	}
}

func noted(t *testing.T, s *Store, name string) bool {
	t.Helper()
	n := 0
	err := s.read(t.Context(), func(v view) error {
		return v.scan(`SELECT count(*) FROM stop_switch WHERE tenant = ?`, []any{name}, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

func TestABadOperationFailsAloneInItsBatch(t *testing.T) {
	t.Parallel()
	bad := errors.New("no good")
	for name, part := range map[string]struct {
		part func(*tx) error
		want error
	}{
		"it refuses before it writes":         {func(*tx) error { return bad }, bad},
		"it fails after it has written":       {func(t *tx) error { return errors.Join(note("half")(t), bad) }, bad},
		"a row is there already":              {note("first"), nil},
		"it counts and then fails":            {func(t *tx) error { t.grown.rows += 99; return errors.Join(note("half")(t), bad) }, bad},
		"it breaks a rule of the schema":      {func(t *tx) error { _, err := t.exec(`UPDATE log_size SET one = 2`); return err }, nil},
		"it adds to the chain and then fails": {func(t *tx) error { return errors.Join(t.seal(tenant.Default, audit.Fact{Action: "undone"}), bad) }, bad},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Config{Path: filepath.Join(t.TempDir(), "db")})
			release := hold(t, s)
			good := []chan error{enqueue(t, s, bulk, note("first"))}
			failed := enqueue(t, s, bulk, part.part)
			for i := range 5 {
				good = append(good, enqueue(t, s, bulk, note(fmt.Sprint("mate ", i))))
			}
			good = append(good, enqueue(t, s, bulk, func(t *tx) error { return t.seal(tenant.Default, audit.Fact{Action: "kept"}) }))
			release()
			if err := <-failed; err == nil || part.want != nil && !errors.Is(err, part.want) {
				t.Errorf("the bad one: got %v, want %v", err, part.want)
			}
			for _, done := range good {
				if err := <-done; err != nil {
					t.Errorf("a mate: %v", err)
				}
			}
			if noted(t, s, "half") || !noted(t, s, "first") || !noted(t, s, "mate 4") {
				t.Error("what the bad one wrote is there, or what its mates wrote is not")
			}
			if size, err := s.Size(t.Context()); err != nil || size.Rows != 0 {
				t.Errorf("the size is %+v, %v", size, err)
			}
			facts, err := s.Facts(t.Context(), tenant.Default, 0, 10)
			if err != nil || len(facts) != 1 || audit.Verify(0, [32]byte{}, facts) != nil {
				t.Errorf("the chain is %+v, %v", facts, err)
			}
		})
	}
}

func TestControlGoesFirstAndLeavesRoomForTheRest(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "db")})
	release := hold(t, s)
	var order []lane // written by the writer's goroutine only
	var last chan error
	for l, n := range map[lane]int{control: 300, bulk: 300} {
		for range n {
			last = enqueue(t, s, l, func(*tx) error { order = append(order, l); return nil })
		}
	}
	var first []lane
	release()
	<-last
	if err := s.write(t.Context(), bulk, func(*tx) error { first = slices.Clone(order[:maxBatch]); return nil }); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(slices.Repeat([]lane{control}, controlShare), slices.Repeat([]lane{bulk}, maxBatch-controlShare))
	if !slices.Equal(first, want) {
		t.Errorf("the first batch ran in the order %v", first)
	}
}

func TestAFullQueueRefusesAndTheOtherLaneGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "db")})
	release := hold(t, s)
	var last chan error
	for range maxWaiting {
		last = enqueue(t, s, bulk, func(*tx) error { return nil })
	}
	err := s.write(t.Context(), bulk, note("refused"))
	if !errors.Is(err, store.ErrBusy) || !fault.Of(err).Retryable || fault.KindOf(err) != fault.Exhausted {
		t.Errorf("a full queue: %v", err)
	}
	urgent := enqueue(t, s, control, note("urgent"))
	release()
	if err := <-urgent; err != nil {
		t.Errorf("the other lane: %v", err)
	}
	if err := <-last; err != nil {
		t.Errorf("the last that had room: %v", err)
	}
	if noted(t, s, "refused") || !noted(t, s, "urgent") {
		t.Error("the refused one was written, or the urgent one was not")
	}
}

func TestACallerThatGoesAwayDoesNotTakeItsOperationBack(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "db")})
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	running, gone := make(chan struct{}), make(chan error, 1)
	go func() {
		close(running)
		_, err := written(ctx, s, bulk, func(t *tx) (int, error) { return 7, note("left behind")(t) })
		gone <- err
	}()
	<-running
	for len(s.writer.queue[bulk]) == 0 { // until it waits
		select {
		case err := <-gone:
			t.Fatal(err)
		default:
		}
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if err := s.write(t.Context(), bulk, note("after")); err != nil {
		t.Fatal(err)
	}
	if !noted(t, s, "left behind") {
		t.Error("the operation was taken back")
	}
}

func TestCloseAnswersWhatIsWaiting(t *testing.T) {
	t.Parallel()
	cfg := Config{Path: filepath.Join(t.TempDir(), "db")}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	var waiting []chan error
	for i := range 600 {
		waiting = append(waiting, enqueue(t, s, lane(i%2), note(fmt.Sprint(i))))
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	for i, done := range waiting {
		if err := <-done; err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
	}
	if !noted(t, open(t, cfg), "599") {
		t.Error("the last one was answered and is not there")
	}
}

// The clock of a bubble moves only when everybody waits, so the second in which
// nothing is written takes no time.
func TestTheLogIsEmptiedWhenNobodyWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "db")
		s := open(t, Config{Path: path})
		heldTask(t, s, "t")
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("before: %v, %v", info, err)
		}
		time.Sleep(2 * restAfter)
		synctest.Wait()
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
			t.Errorf("after: %d bytes, %v", info.Size(), err)
		}
	})
}

func TestALongWriteKeepsTheLogWithinItsBound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, Config{Path: path})
	big := make([]byte, 1<<20)
	for i := range 100 {
		err := s.write(t.Context(), bulk, func(t *tx) error {
			_, err := t.exec(`INSERT INTO blob (tenant, hash, body) VALUES ('x', ?, ?)`, fmt.Appendf(nil, "%d", i), big)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() > walAlarm {
		t.Errorf("after 100 MiB the log has %d bytes, %v", info.Size(), err)
	}
}

// A reader keeps the log from being emptied; Reclaim waits for it, and says so
// when it takes longer than a read may.
func TestReclaimWaitsForReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Path: filepath.Join(t.TempDir(), "db")})
		heldTask(t, s, "t")
		began, end := make(chan struct{}), make(chan struct{})
		var reading sync.WaitGroup
		reading.Go(func() {
			err := s.snapshot(t.Context(), func(v view) error {
				n := 0
				err := v.scan(`SELECT count(*) FROM task`, nil, &n)
				close(began)
				<-end
				return err
			})
			if err != nil {
				t.Errorf("read: %v", err)
			}
		})
		<-began
		if err := s.SetStop(t.Context(), tenant.Default, usage.Stop{}, audit.Fact{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Reclaim(t.Context()); !errors.Is(err, errReading) || !fault.Of(err).Retryable {
			t.Errorf("with a reader: %v", err)
		}
		close(end)
		reading.Wait()
		if err := s.Reclaim(t.Context()); err != nil {
			t.Errorf("without: %v", err)
		}
	})
}
