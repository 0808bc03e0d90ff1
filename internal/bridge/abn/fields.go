package abn

import (
	"strings"
	"time"
	"unicode"
)

// fields reads the values of one answer and keeps the first fault in err, an
// ErrUnavailable: an answer that is wrong in one place is not believed in
// another.
type fields struct{ err error }

func (f *fields) require(ok bool, why string) {
	if !ok && f.err == nil {
		f.err = odd(why)
	}
}

// status takes the two that there are: anything else can't be told from "not
// registered" by whoever asks.
func (f *fields) status(s string) string {
	s = f.text(s)
	f.require(s == Active || s == Cancelled, "the register's answer has a status that we don't know")
	return s
}

// date takes YYYY-MM-DD, also with a time behind it, or nothing. The year 1
// stands for no date.
func (f *fields) date(s string) string {
	if s = f.text(s); s == "" {
		return ""
	}
	for _, layout := range [...]string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			if t.Year() == 1 {
				return ""
			}
			return s[:len(time.DateOnly)]
		}
	}
	f.require(false, "the register's answer has a date that is none")
	return ""
}

// acn takes nine digits or nothing.
func (f *fields) acn(s string) string {
	s = f.text(s)
	f.require(s == "" || len(s) == 9 && strings.Trim(s, "0123456789") == "", "the register's answer has a company number that is none")
	return s
}

// text takes what people can read, with its space made even.
func (f *fields) text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	f.require(!strings.ContainsFunc(s, unicode.IsControl), "the register's answer has control characters")
	return s
}

// texts takes those that are not empty.
func (f *fields) texts(all []string) []string {
	var kept []string
	for _, s := range all {
		if s = f.text(s); s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
