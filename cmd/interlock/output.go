package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// printJSON writes v as the one JSON value of a command.
func (p *program) printJSON(v any) error {
	if err := json.MarshalWrite(p.out, v, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	_, err := io.WriteString(p.out, "\n")
	return err
}

// printLine writes v as one line of a stream of JSON values.
func (p *program) printLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	_, err = p.out.Write(append(b, '\n'))
	return err
}

// printf writes for a person. What can't be written ends the command at its
// end: see output.
func (p *program) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// output remembers the first write that failed, so that a full disk behind
// "> file" is no success.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// done says that a change whose answer holds nothing else has been made.
func (p *program) done(what, id string) error {
	if p.json {
		return p.printJSON(struct {
			ID   string `json:"id"`
			Done string `json:"done"`
		}{id, what})
	}
	p.printf("%s %s\n", what, printable(id))
	return nil
}

// notef writes progress, which is never part of the output.
func (p *program) notef(format string, args ...any) { fmt.Fprintf(p.err, format, args...) }

// fields prints name and value pairs, those without a value left out.
func (p *program) fields(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.printf("%-10s %s\n", pairs[i], printable(pairs[i+1]))
		}
	}
}

// printable keeps what strangers and models wrote from steering the terminal:
// control characters, and those that turn the direction of text, become spaces.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}

// lines is printable for text of several lines.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = printable(all[i])
	}
	return strings.Join(all, "\n")
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// count is "1 task" or "3 tasks".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// when shows a time for a person, in UTC as the log does; zero is "-".
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// orDash shows an empty cell.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
