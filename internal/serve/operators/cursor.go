package operators

import (
	"fmt"
	"strconv"
	"strings"

	"interlock/internal/fault"
)

// place is where a page of one task's events or decisions ended, or where a
// watch was: the last attempt and index seen, written "ATTEMPT-INDEX".
type place struct{ attempt, index int }

// String is the cursor, and the id of a watch's event.
func (p place) String() string { return fmt.Sprintf("%d-%d", p.attempt, p.index) }

var errCursor = fault.New(fault.Invalid, "invalid_cursor", "that cursor is not one of ours; pass next_cursor as it came")

func parsePlace(s string) (place, error) {
	attempt, index, _ := strings.Cut(s, "-")
	a, errA := strconv.ParseInt(attempt, 10, 32)
	i, errI := strconv.ParseInt(index, 10, 32)
	if errA != nil || errI != nil || a < 1 || i < 0 {
		return place{}, errCursor
	}
	return place{int(a), int(i)}, nil
}

// cut makes a page of what was found, one more than which was asked for, and
// its cursor: the id of its last thing, where there are more.
func cut[T, V any](found []T, limit int, view func(T) V, id func(V) string) (page []V, next string) {
	page = []V{}
	for i, f := range found {
		if i == limit {
			return page, id(page[i-1])
		}
		page = append(page, view(f))
	}
	return page, ""
}
