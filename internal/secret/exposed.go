package secret

import (
	"encoding/json"
	"log/slog"
)

// Exposed is a secret that has to travel: the one answer that shows a token,
// the request that presents it, the file that keeps it. Its JSON form holds the
// value; every printer shows "[redacted]", and so does a log of the value
// itself. What holds one is never a log attribute: slog's JSON handler would
// write its JSON form. The zero value is empty.
type Exposed struct{ value String }

// Expose lets s travel in JSON.
func Expose(s String) Exposed { return Exposed{s} }

// Secret returns the value as one that does not travel.
func (e Exposed) Secret() String { return e.value }

// Reveal returns the value itself, as String's does.
func (e Exposed) Reveal() string { return e.value.Reveal() }

// The printers below never show the value; the JSON forms do.
func (e Exposed) String() string               { return redacted }
func (e Exposed) GoString() string             { return redacted }
func (e Exposed) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (e Exposed) MarshalJSON() ([]byte, error) { return json.Marshal(e.Reveal()) }

// UnmarshalJSON reads a JSON string; null is empty.
func (e *Exposed) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	e.value = New(s)
	return nil
}
