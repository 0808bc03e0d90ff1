package operators

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"interlock/internal/fault"
	"interlock/internal/problem"
	"interlock/internal/serve"
)

const mediaType = "application/json"

// formats reads and writes JSON as strictly as the other doors do.
func formats() map[string]huma.Format {
	strict := huma.Format{
		Marshal:   func(w io.Writer, v any) error { return json.MarshalWrite(w, v) },
		Unmarshal: func(b []byte, v any) error { return serve.Unmarshal(b, v) },
	}
	return map[string]huma.Format{mediaType: strict, "json": strict}
}

// describeTypes tells the document how the types that have a form of their own
// look in JSON.
func (d *Door) describeTypes() {
	d.doc.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[failure](), reflect.TypeFor[problem.Problem]())
}

// reply is an answer with a body.
type reply[T any] struct{ Body T }

func answer[T any](v T, err error) (*reply[T], error) {
	if err != nil {
		return nil, err
	}
	return &reply[T]{v}, nil
}

// done is an answer without one.
type done struct{}

// op describes one operation: "GET /path", its id and what it does.
func op(route, id, summary string) huma.Operation {
	method, path, _ := strings.Cut(route, " ")
	return huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary, MaxBodyBytes: maxBody + 1}
}

// add registers one operation. Its failures become problems here, with the
// request's id; the cause goes to the log.
func add[I, O any](d *Door, api huma.API, o huma.Operation, h func(context.Context, operator, *I) (*O, error)) {
	if o.Responses == nil {
		o.Responses = map[string]*huma.Response{}
	}
	o.Responses["default"] = serve.ProblemResponse(d.doc)
	huma.Register(api, o, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, operatorOf(ctx), in)
		if err != nil {
			return nil, failure{serve.Problem(ctx, d.Logger, err)}
		}
		return out, nil
	})
}

// failure is a problem as the API library wants its errors.
type failure struct{ problem.Problem }

func (f failure) Error() string             { return f.Code }
func (f failure) GetStatus() int            { return f.Status }
func (f failure) ContentType(string) string { return problem.MediaType }
func (f failure) GetHeaders() http.Header {
	h := http.Header{}
	serve.SetProblemHeaders(h, f.Problem)
	return h
}

// The library's settings for the process; nothing else here uses it to answer
// requests. It makes its own refusals (a body that breaks the schema, an
// unknown query) through the two hooks, its only way to say them as a problem.
func init() {
	huma.ValidateStrictCasing = true // as the codec: "Goal" is not "goal"
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return refusal(context.Background(), status, errs)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return refusal(ctx.Context(), status, errs)
	}
}

// refusal is a problem of kind Invalid that names the first places that are
// wrong. The values found there are not repeated.
func refusal(ctx context.Context, status int, errs []error) huma.StatusError {
	err := fault.New(fault.Invalid, "invalid_request", "correct the request: %s", places(errs))
	switch status {
	case http.StatusRequestEntityTooLarge:
		err = fault.Of(serve.TooLarge(maxBody))
	case http.StatusRequestTimeout, http.StatusInternalServerError:
		err = fault.New(fault.Invalid, "body_incomplete", "the body did not arrive whole; send it again").Retry(0)
	case http.StatusBadRequest:
		if len(errs) == 0 {
			err = fault.New(fault.Invalid, "invalid_request", "this call needs a body; send one JSON object")
		}
	}
	return failure{serve.Refuse(ctx, err)}
}

// One sentence lists so many mistakes, each in so many bytes: a place can be a
// name that the caller made up.
const (
	maxPlaces     = 4
	maxPlaceBytes = 200
)

func places(errs []error) string {
	var out []string
	for _, err := range errs[:min(len(errs), maxPlaces)] {
		var detail *huma.ErrorDetail
		if errors.As(err, &detail) {
			place := strings.TrimSpace(detail.Location + " " + detail.Message)
			out = append(out, strings.ToValidUTF8(place[:min(len(place), maxPlaceBytes)], ""))
		}
	}
	if len(errs) > maxPlaces {
		out = append(out, "and more")
	}
	return strings.Join(out, "; ")
}
