// Package llm is what we ask of a model and what it may answer: one Request
// in, exactly one tool call out. Providers and the cloud proxy implement
// ToolCaller; whoever calls one can't tell which it has. Where no screen and no
// tool is meant, a StructuredCaller answers in the form of a schema instead.
//
// The model only proposes. Whether a reply holds exactly one usable call is
// decided in one place, Accept, for every provider. Each failure is an
// *Unavailable with a reason from a closed list, equal over every transport.
// A reply that fails never yields a call, whatever blocks it carries.
package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // registers the formats that both vendors read
	_ "image/jpeg" //
	_ "image/png"  //
	"time"

	_ "golang.org/x/image/webp"

	"interlock/internal/tool"
)

// ToolCaller makes one decision. It returns a Decision whose call Accept took,
// or an error in whose chain is an *Unavailable. It never returns later than
// the request's Timeout and its own, whichever is shorter, and it is safe for
// concurrent use.
type ToolCaller interface {
	Decide(ctx context.Context, r Request) (Decision, error)
}

// DefaultTimeout bounds a decision, with its retries, where nobody says
// otherwise.
const DefaultTimeout = 60 * time.Second

// Request is everything that one decision depends on.
type Request struct {
	System, User string
	Image        *Image        // nil: none
	Tools        *tool.Set     // never nil
	Timeout      time.Duration // the whole decision with its retries; zero: the caller's own default

	// Key makes a repeat of this request the same decision where the caller
	// remembers (the cloud proxy); TaskID and Attempt say for whom it is.
	// Providers don't send any of the three to a vendor.
	Key     string
	TaskID  string
	Attempt int
}

// Image is a screenshot: encoded bytes with what was found in them. It has no
// text form: printing or marshalling one shows its size, never its bytes.
type Image struct {
	bytes         []byte
	MediaType     string // sniffed: image/png, image/jpeg, image/gif or image/webp
	Width, Height int    // pixels
}

// NewImage sniffs b, whose declared type nobody should trust. The caller must
// not change b afterwards.
func NewImage(b []byte) (*Image, error) {
	cfg, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, errors.New("the screenshot is not a PNG, JPEG, GIF or WebP picture")
	}
	return &Image{bytes: b, MediaType: "image/" + format, Width: cfg.Width, Height: cfg.Height}, nil
}

// Bytes returns the encoded picture. Only providers and hostapi may send it on.
func (i *Image) Bytes() []byte { return i.bytes }

// Evidence is what may be kept of the picture.
func (i *Image) Evidence() Evidence {
	return Evidence{SHA256: sha256.Sum256(i.bytes), Width: i.Width, Height: i.Height, Bytes: len(i.bytes)}
}

// String, GoString and MarshalJSON never show the picture.
func (i *Image) String() string               { return fmt.Sprintf("[%s %dx%d]", i.MediaType, i.Width, i.Height) }
func (i *Image) GoString() string             { return i.String() }
func (i *Image) MarshalJSON() ([]byte, error) { return json.Marshal(i.String()) }

// Evidence proves which screenshot a decision saw without holding it.
type Evidence struct {
	SHA256        [32]byte
	Width, Height int
	Bytes         int
}

// Decision is one accepted proposal.
type Decision struct {
	Call              tool.Call
	Usage             Usage
	Provider          string // "anthropic", "openai" or "scripted"
	Model             string // as the provider named it in its reply, else as asked
	ProviderRequestID string // "" where the provider gave none

	// StepIndex is the decision's place in the log, known only where one is
	// kept (the cloud proxy); -1 elsewhere.
	StepIndex int
}

// Count is a number of tokens that the provider may not have reported: the
// zero value is unknown, which is not zero. In JSON unknown is null.
type Count struct {
	n     int64
	known bool
}

// Known returns a reported count. A negative n is unknown: no vendor means it.
func Known(n int64) Count { return Count{max(n, 0), n >= 0} }

// Get returns the count and whether it was reported.
func (c Count) Get() (n int64, known bool) { return c.n, c.known }

// IsKnown reports whether the provider gave the count.
func (c Count) IsKnown() bool { return c.known }

// String returns the digits, or "unknown".
func (c Count) String() string {
	if !c.known {
		return "unknown"
	}
	return fmt.Sprint(c.n)
}

// MarshalJSON writes the number or null.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.known {
		return []byte("null"), nil
	}
	return json.Marshal(c.n)
}

// maxCount is the largest whole number that every JSON reader keeps exactly. No
// count is near it, and sums of such counts stay far from overflowing.
const maxCount = 1 << 53

// UnmarshalJSON reads a whole number from 0 to 2^53, or null.
func (c *Count) UnmarshalJSON(b []byte) error {
	var n *int64
	if err := json.Unmarshal(b, &n); err != nil || (n != nil && (*n < 0 || *n > maxCount)) {
		return errors.New("a token count is a whole number from 0, or null")
	}
	*c = Count{}
	if n != nil {
		*c = Known(*n)
	}
	return nil
}

// Usage is the tokens of one provider call, with one meaning over providers:
// Input is the total and includes CachedInput and CacheWrite; Output is the
// total and includes Reasoning.
type Usage struct {
	Input       Count `json:"input_tokens"`
	CachedInput Count `json:"cached_input_tokens"`
	CacheWrite  Count `json:"cache_write_tokens"`
	Output      Count `json:"output_tokens"`
	Reasoning   Count `json:"reasoning_tokens"`
}
