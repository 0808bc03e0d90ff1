package serve

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/fault"
)

// Decode reads the body of r, one JSON value of at most limit bytes, into v.
// Names are case-sensitive and distinct, text is UTF-8, nothing may follow the
// value; members that v does not know are passed over, so that a newer client
// may say more. Its errors are of kind Invalid and fit for the caller.
func Decode(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	if err := RequireJSON(r.Header.Get("Content-Type")); err != nil {
		return err
	}
	body := bodies.Get().(*bytes.Buffer)
	defer giveBack(body)
	if err := ReadBody(body, w, r, limit); err != nil {
		return err
	}
	return Unmarshal(body.Bytes(), v)
}

// bodies are lent to Decode, empty: what is decoded holds none of them.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// giveBack keeps b for another body, but for its content, which may be prompts
// and secrets, and unless it is large.
func giveBack(b *bytes.Buffer) {
	clear(b.Bytes())
	b.Reset()
	if b.Cap() <= maxTrusted {
		bodies.Put(b)
	}
}

// RequireJSON refuses every media type but application/json in UTF-8.
func RequireJSON(contentType string) error {
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return fault.New(fault.Invalid, "unsupported_media_type", "send the body as Content-Type: application/json")
	}
	return nil
}

// TooLarge is the refusal of a body that exceeds limit bytes.
func TooLarge(limit int64) error {
	return fault.New(fault.Invalid, "body_too_large", "the body is larger than %d bytes, the most that this call takes", limit)
}

// maxTrusted is how much memory a mere Content-Length can make us take.
const maxTrusted = 256 << 10

// ReadBody reads the whole body of r into b, at most limit bytes. A body that
// says that it is larger is refused before a byte of it is read.
func ReadBody(b *bytes.Buffer, w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return TooLarge(limit)
	}
	if r.ContentLength > 0 { // taken at its word only so far: the bytes may never come
		b.Grow(int(min(r.ContentLength, maxTrusted)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return TooLarge(limit)
	case err != nil:
		return fault.New(fault.Invalid, "body_incomplete", "the body did not arrive whole; send it again").Retry(0)
	}
	return nil
}

// Unmarshal decodes one JSON value strictly, as Decode says.
func Unmarshal(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault.New(fault.Invalid, "invalid_body", "the body is empty; send one JSON object")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return explain(err)
	}
	return nil
}

// Millis is a number of milliseconds out of a body as a duration. It never
// overflows: beyond a year either way it is a year, which the rooms refuse.
func Millis(n int64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(max(min(n, year.Milliseconds()), -year.Milliseconds())) * time.Millisecond
}

// explain says what is wrong with a body and where, without the values in it:
// they may be prompts or secrets.
func explain(err error) error {
	refuse := func(where jsontext.Pointer, what string) error {
		if where == "" {
			return fault.New(fault.Invalid, "invalid_body", "the body %s", what)
		}
		return fault.New(fault.Invalid, "invalid_body", "the body %s at %.120q", what, string(where))
	}
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("", "is cut off; send one whole JSON object")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refuse("", "has a name twice in one object")
	case errors.As(err, &syntax):
		return refuse(syntax.JSONPointer, "is not valid JSON")
	case errors.As(err, &meaning):
		return refuse(meaning.JSONPointer, "has a value of the wrong kind")
	}
	return refuse("", "is not what this call takes")
}
