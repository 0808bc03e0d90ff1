package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"time"

	"interlock/internal/store"
)

// Limits of the writer.
const (
	maxWaiting = 4096 // operations a lane
	maxBatch   = 256  // operations a transaction
	// controlShare is how much of a batch the control lane may fill while the
	// other lane waits, so that neither starves.
	controlShare = 192
)

// lane is a queue of the writer.
type lane uint8

// The lanes: control is drained first.
const (
	control lane = iota // leases, claims, results
	bulk                // decisions, calls of sites, pruning, audit
	lanes
)

// operation waits for the writer. It has either a part in a transaction or a
// turn on the connection alone.
type operation struct {
	part  func(*tx) error
	alone func(*sql.Conn) error
	done  chan error // buffered, answered once
}

// writer owns the writing connection; only its goroutine touches conn and tx.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	tx    *tx
	wal   *wal
	queue [lanes]chan *operation
	ended chan struct{} // closed when the goroutine has returned

	mu      sync.RWMutex
	stopped bool          // guarded by mu: nothing is queued once it is set
	stopReq chan struct{} // closed with stopped
}

func startWriter(db *sql.DB, walPath string, c clock, log *slog.Logger) (*writer, error) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, conn: conn, tx: newTx(conn, c), wal: &wal{path: walPath, conn: conn, log: log},
		ended: make(chan struct{}), stopReq: make(chan struct{})}
	for i := range w.queue {
		w.queue[i] = make(chan *operation, maxWaiting)
	}
	go w.run()
	return w, nil
}

// submit queues o and waits for its answer, or for ctx, whose end does not take
// the operation back.
func (w *writer) submit(ctx context.Context, l lane, o *operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.enqueue(l, o); err != nil {
		return err
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) enqueue(l lane, o *operation) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.stopped {
		return store.ErrClosed
	}
	select {
	case w.queue[l] <- o:
		return nil
	default:
		return store.ErrBusy
	}
}

// stop refuses further operations and waits until those that are queued are
// answered. It reports false if it had been called before.
func (w *writer) stop() bool {
	w.mu.Lock()
	first := !w.stopped
	if first {
		w.stopped = true
		close(w.stopReq)
	}
	w.mu.Unlock()
	<-w.ended
	return first
}

// close ends the connection, after stop.
func (w *writer) close() error {
	w.stop()
	w.tx.finalize()
	return errors.Join(w.conn.Close(), w.db.Close())
}

func (w *writer) run() {
	defer close(w.ended)
	defer w.wal.truncate()
	for {
		first := w.next()
		if first == nil {
			return
		}
		batch, alone := w.gather(first)
		if len(batch) > 0 {
			w.commit(batch)
			w.wal.grown()
		}
		if alone != nil {
			alone.done <- alone.alone(w.conn)
			w.wal.grown() // giving space back writes too
		}
	}
}

// next waits for an operation; nil: the writer is stopped and nothing is left.
func (w *writer) next() *operation {
	for {
		select {
		case o := <-w.queue[control]:
			return o
		default:
		}
		select {
		case o := <-w.queue[control]:
			return o
		case o := <-w.queue[bulk]:
			return o
		case <-w.wal.idle():
			w.wal.rest()
			continue
		case <-w.stopReq:
		}
		for _, q := range w.queue {
			select {
			case o := <-q:
				return o
			default:
			}
		}
		return nil
	}
}

// gather adds what is waiting to the batch that first opens. An operation that
// wants the connection alone ends the batch and comes after it.
func (w *writer) gather(first *operation) (batch []*operation, alone *operation) {
	if first.alone != nil {
		return nil, first
	}
	batch = append(batch, first)
	for _, part := range []struct {
		from lane
		upTo int
	}{{control, controlShare}, {bulk, maxBatch}, {control, maxBatch}} {
		for len(batch) < part.upTo {
			o := w.poll(part.from)
			if o == nil {
				break
			}
			if o.alone != nil {
				return batch, o
			}
			batch = append(batch, o)
		}
	}
	return batch, nil
}

func (w *writer) poll(l lane) *operation {
	select {
	case o := <-w.queue[l]:
		return o
	default:
		return nil
	}
}

// commit runs the batch in one transaction and answers each operation.
func (w *writer) commit(batch []*operation) {
	answers, err := w.tx.commit(batch, false)
	if errors.Is(err, errHalfDone) {
		answers, err = w.tx.commit(batch, true)
	}
	for i, o := range batch {
		if err != nil {
			o.done <- err
		} else {
			o.done <- answers[i]
		}
	}
}

// write runs part in the writer's next transaction and returns when it is on
// the disk. An error of part undoes what it wrote. Part may run twice.
func (s *Store) write(ctx context.Context, l lane, part func(*tx) error) error {
	return s.writer.submit(ctx, l, &operation{part: part, done: make(chan error, 1)})
}

// written is write for a part that has an answer.
func written[T any](ctx context.Context, s *Store, l lane, part func(*tx) (T, error)) (T, error) {
	// Not a variable of the caller: if ctx ends first, the writer still sets it.
	answer := new(T)
	err := s.write(ctx, l, func(t *tx) (err error) {
		*answer, err = part(t)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return *answer, nil
}

// exclusively runs f on the writing connection, outside a transaction.
func (s *Store) exclusively(ctx context.Context, f func(*sql.Conn) error) error {
	return s.writer.submit(ctx, bulk, &operation{alone: f, done: make(chan error, 1)})
}

// restAfter is how long nothing must have been written before the write-ahead
// log is emptied.
const restAfter = time.Second
