package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"strings"
	"testing"

	"interlock/internal/llm"
	"interlock/internal/tool"
)

func offered(t *testing.T) *tool.Set {
	t.Helper()
	s, err := tool.NewSet([]tool.Spec{
		{Name: "tap", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
		{Name: "wait", Parameters: json.RawMessage(`{"type":"object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// R-PLAN-3, R-PLAN-7
func TestAccept(t *testing.T) {
	tap := llm.RawCall{Name: "tap", Arguments: []byte(`{"x":1}`)}
	usage := llm.Usage{Input: llm.Known(7), Output: llm.Known(0)}
	for name, c := range map[string]struct {
		stop  llm.Stop
		calls []llm.RawCall
		want  llm.Reason // "" means accepted
	}{
		"one call":                                   {llm.StopOther, []llm.RawCall{tap}, ""},
		"no call":                                    {llm.StopOther, nil, llm.NoCall},
		"two calls":                                  {llm.StopOther, []llm.RawCall{tap, tap}, llm.ManyCalls},
		"a refused turn that carries a call":         {llm.StopRefused, []llm.RawCall{tap}, llm.Refused},
		"a truncated turn that carries a call":       {llm.StopTruncated, []llm.RawCall{tap}, llm.Truncated},
		"a paused turn":                              {llm.StopPaused, []llm.RawCall{tap}, llm.NoCall},
		"an unknown name":                            {llm.StopOther, []llm.RawCall{{Name: "rm", Arguments: []byte(`{}`)}}, llm.UnknownTool},
		"an array":                                   {llm.StopOther, []llm.RawCall{{Name: "tap", Arguments: []byte(`[1]`)}}, llm.InvalidArguments},
		"cut arguments":                              {llm.StopOther, []llm.RawCall{{Name: "tap", Arguments: []byte(`{"x": 1`)}}, llm.InvalidArguments},
		"no arguments where some are required":       {llm.StopOther, []llm.RawCall{{Name: "tap"}}, llm.InvalidArguments},
		"no arguments where none are":                {llm.StopOther, []llm.RawCall{{Name: "wait"}}, ""},
		"null arguments where none are":              {llm.StopOther, []llm.RawCall{{Name: "wait", Arguments: []byte("null")}}, llm.InvalidArguments},
		"no arguments where none are, but truncated": {llm.StopTruncated, []llm.RawCall{{Name: "wait"}}, llm.Truncated},
	} {
		d, err := llm.Accept(offered(t), llm.Reply{Stop: c.stop, Calls: c.calls, Usage: usage, Provider: "p", Model: "m", ProviderRequestID: "r"})
		if c.want == "" {
			if err != nil || d.Call.Tool != c.calls[0].Name || d.Usage != usage || d.StepIndex != -1 {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
			continue
		}
		var u *llm.Unavailable
		if !errors.As(err, &u) || !errors.Is(err, llm.ErrUnavailable) || u.Reason != c.want || u.Usage != usage || u.ProviderRequestID != "r" || d.Call.Tool != "" {
			t.Errorf("%s: %+v, %v; want %s", name, d, err, c.want)
		}
	}
}

// R-PLAN-7
func TestUnknownIsNotZero(t *testing.T) {
	b, err := json.Marshal(llm.Usage{Input: llm.Known(0), Output: llm.Known(5)})
	want := `{"input_tokens":0,"cached_input_tokens":null,"cache_write_tokens":null,"output_tokens":5,"reasoning_tokens":null}`
	if err != nil || string(b) != want {
		t.Fatalf("got %s, %v", b, err)
	}
	var u llm.Usage
	if err := json.Unmarshal(b, &u); err != nil || u.Input != llm.Known(0) || u.Reasoning.IsKnown() {
		t.Fatalf("got %+v, %v", u, err)
	}
	for _, bad := range []string{`-1`, `1.5`, `"3"`, `1e30`, `9007199254740993`} {
		var c llm.Count
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s accepted", bad)
		}
	}
	if llm.Known(-1).IsKnown() {
		t.Error("a negative count is known")
	}
}

// R-CLOUD-5
func TestAnImageNeverPrints(t *testing.T) {
	var buf bytes.Buffer
	png.Encode(&buf, image.NewGray(image.Rect(0, 0, 3, 2)))
	i, err := llm.NewImage(buf.Bytes())
	if err != nil || i.MediaType != "image/png" || i.Width != 3 || i.Height != 2 || i.Evidence().Bytes != buf.Len() {
		t.Fatalf("%v, %v", i, err)
	}
	r := llm.Request{Image: i}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "i", i, "r", fmt.Sprint(r))
	b, _ := json.Marshal(i)
	for _, out := range []string{fmt.Sprintf("%v %+v %#v %s", i, i, i, i), log.String(), string(b)} {
		if strings.Contains(out, "IHDR") || strings.Contains(out, "iVBOR") || strings.Contains(out, "73 72 68 82") {
			t.Errorf("shows the picture: %s", out)
		}
	}
	if _, err := llm.NewImage([]byte("not a picture")); err == nil {
		t.Error("took text for a picture")
	}
}

// R-PLAN-5
func TestAsUnavailable(t *testing.T) {
	for err, want := range map[error]llm.Reason{
		context.DeadlineExceeded:              llm.Timeout,
		context.Canceled:                      llm.Cancelled,
		errors.New("reset"):                   llm.Transport,
		&llm.Unavailable{Reason: llm.Auth}:    llm.Auth,
		fmt.Errorf("x: %w", context.Canceled): llm.Cancelled,
	} {
		if got := llm.AsUnavailable(err); got.Reason != want || !errors.Is(got, llm.ErrUnavailable) {
			t.Errorf("%v: got %v, want %s", err, got, want)
		}
	}
	if llm.AsUnavailable(nil) != nil {
		t.Error("nil is not nil")
	}
}

func TestATasksReasonSaysPlannerOnceAndLeadsBack(t *testing.T) {
	t.Parallel()
	for reason, want := range map[llm.Reason]string{
		llm.Timeout:              "planner_timeout",
		llm.PlannerForbidden:     "planner_forbidden",
		llm.PlannerNotConfigured: "planner_not_configured",
	} {
		if got := reason.TaskReason(); got != want {
			t.Errorf("TaskReason of %s: got %q, want %q", reason, got, want)
		}
	}
	for _, reason := range llm.Reasons {
		if back, ok := llm.OfTask(reason.TaskReason()); !ok || back != reason {
			t.Errorf("OfTask(%q): got %q %v, want %q", reason.TaskReason(), back, ok, reason)
		}
	}
	for _, other := range []string{"", "planner_", "planner_other", "timeout", "policy_denied"} {
		if back, ok := llm.OfTask(other); ok {
			t.Errorf("OfTask(%q): got %q, want none", other, back)
		}
	}
}
