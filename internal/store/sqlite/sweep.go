package sqlite

import (
	"context"
	"time"
)

// sweep runs a statement that changes up to limit rows from before a time.
func (s *Store) sweep(ctx context.Context, what, statement string, before time.Time, limit int) (int, error) {
	n, err := written(ctx, s, bulk, func(t *tx) (int64, error) { return t.exec(statement, micros(before), limit) })
	return int(n), during(what, err)
}
