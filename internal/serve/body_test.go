package serve_test

import (
	"bufio"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"interlock/internal/serve"
)

const limit = 64

// bodies serves a call that takes {"name": text, "count": number}.
func bodies(t *testing.T) (url string) {
	server, _ := front(t, nil, func(m *serve.Mux, log *slog.Logger) {
		m.HandleFunc("POST /take", func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				Name  string `json:"name"`
				Count int    `json:"count"`
			}
			if err := serve.Decode(w, r, limit, &in); err != nil {
				serve.Fail(w, r, log, err)
				return
			}
			serve.Reply(w, r, log, http.StatusOK, in)
		})
	})
	return server.URL + "/take"
}

func TestABodyThatCannotBeRightIsRefusedWithOneSentence(t *testing.T) {
	t.Parallel()
	url := bodies(t)
	const plain = "application/json"
	for _, c := range []struct {
		name, media, body string
		status            int
		code, says        string
	}{
		{"no media type", "", `{}`, 415, "unsupported_media_type", "application/json"},
		{"a form", "application/x-www-form-urlencoded", `name=x`, 415, "unsupported_media_type", "application/json"},
		{"text that a page may send without asking", "text/plain", `{}`, 415, "unsupported_media_type", "application/json"},
		{"another charset", "application/json; charset=latin1", `{}`, 415, "unsupported_media_type", "application/json"},
		{"a media type that is none", "application/json;;", `{}`, 415, "unsupported_media_type", "application/json"},
		{"nothing", plain, ``, 400, "invalid_body", "empty"},
		{"half an object", plain, `{"name":`, 400, "invalid_body", "cut off"},
		{"a name twice", plain, `{"name":"a","name":"b"}`, 400, "invalid_body", "twice"},
		{"two values", plain, `{} {}`, 400, "invalid_body", "not valid JSON"},
		{"not JSON", plain, `name: x`, 400, "invalid_body", "not valid JSON"},
		{"not UTF-8", plain, "{\"name\":\"\xff\"}", 400, "invalid_body", "/name"},
		{"a number for a text", plain, `{"name":4711}`, 400, "invalid_body", "/name"},
		{"a text for a number", plain, `{"count":"4711"}`, 400, "invalid_body", "/count"},
		{"a fraction for a whole number", plain, `{"count":1.5}`, 400, "invalid_body", "/count"},
		{"an array for the object", plain, `[4711]`, 400, "invalid_body", "wrong kind"},
		{"a body over the limit", plain, `{"name":"` + strings.Repeat("x", limit) + `"}`, 413, "body_too_large", "64 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, body := send(t, "POST", url, c.body, "Content-Type", c.media)
			p := problemOf(t, res, body)
			if p.Status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
				t.Errorf("got %d %s %q, want %d %s with %q", p.Status, p.Code, p.Detail, c.status, c.code, c.says)
			}
			if strings.Contains(body, "4711") {
				t.Errorf("the refusal repeats the value: %s", body)
			}
		})
	}
}

func TestABodyOfUnknownLengthIsCutAtTheLimit(t *testing.T) {
	t.Parallel()
	url := bodies(t)
	endless := io.MultiReader(strings.NewReader(`{"name":"`), strings.NewReader(strings.Repeat("x", 1<<20)))
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, endless) // no Content-Length: chunked
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got status %d, want 413", res.StatusCode)
	}
}

func TestABodyWithUnknownMembersAndACharsetIsTaken(t *testing.T) {
	t.Parallel()
	res, body := send(t, "POST", bodies(t), `{"name":"a","later":1}`, "Content-Type", "application/json; charset=UTF-8")
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `"name":"a"`) {
		t.Errorf("got %d %s, want 200 with the name", res.StatusCode, body)
	}
}

func TestNamesAreCaseSensitive(t *testing.T) {
	t.Parallel()
	if _, body := send(t, "POST", bodies(t), `{"NAME":"a"}`, "Content-Type", "application/json"); !strings.Contains(body, `"name":""`) {
		t.Errorf("NAME was taken for name: %s", body)
	}
}

func TestABodyThatStopsArrivingIsIncomplete(t *testing.T) {
	t.Parallel()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(bodies(t), "http://"), "/take"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /take HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{\"name\":")
	conn.(*net.TCPConn).CloseWrite()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if p := problemOf(t, res, string(body)); p.Status != 400 || p.Code != "body_incomplete" || !p.Retryable {
		t.Errorf("got %+v, want a retryable 400 body_incomplete", p)
	}
}

func TestMillisecondsNeverOverflow(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for ms, want := range map[int64]time.Duration{0: 0, 1500: 1500 * time.Millisecond, -7: -7 * time.Millisecond, math.MaxInt64: year, math.MinInt64: -year} {
		if got := serve.Millis(ms); got != want {
			t.Errorf("%d ms is %v, want %v", ms, got, want)
		}
	}
}
