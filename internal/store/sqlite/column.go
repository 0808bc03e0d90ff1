package sqlite

import (
	"database/sql"
	"fmt"

	"github.com/go-json-experiment/json"

	"interlock/internal/llm"
)

// text writes a value as JSON with sorted names, so that equal values are
// equal texts.
func text(v any) (string, error) {
	b, err := json.Marshal(v, json.Deterministic(true), json.FormatNilMapAsNull(false))
	if err != nil {
		return "", fmt.Errorf("write a column: %w", err)
	}
	return string(b), nil
}

// parse reads what text wrote.
func parse(column string, into any) error {
	if err := json.Unmarshal([]byte(column), into); err != nil {
		return fmt.Errorf("read a column: %w", err)
	}
	return nil
}

// parseMap reads a map; one that is empty is nil, as it mostly was before.
func parseMap(column string) (map[string]string, error) {
	var m map[string]string
	if column == "{}" {
		return nil, nil
	}
	err := parse(column, &m)
	return m, err
}

// count stores a number that may be unknown.
func count(c llm.Count) sql.NullInt64 {
	n, known := c.Get()
	return sql.NullInt64{Int64: n, Valid: known}
}

// counted reads what count wrote.
func counted(n sql.NullInt64) llm.Count {
	if !n.Valid {
		return llm.Count{}
	}
	return llm.Known(n.Int64)
}

// digest reads a stored hash.
func digest(b []byte) (h [32]byte, err error) {
	if len(b) != len(h) {
		return h, fmt.Errorf("a stored hash has %d bytes", len(b))
	}
	return [32]byte(b), nil
}
