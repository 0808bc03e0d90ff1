package android

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// uiautomator writes XML that an XML parser often refuses: half a surrogate
// pair as a character reference, references to characters that XML forbids,
// raw control bytes, UTF-16 halves encoded as if they were UTF-8, and warnings
// before and after. This reader takes the tags and attributes as they come and
// repairs their text; it never fails, and uses memory in proportion to one tag.

// tag is one tag of a dump.
type tag struct {
	name    string
	closing bool // </name>
	empty   bool // <name/>
	attrs   []attr
}

type attr struct{ name, value string }

// maxAttrs is more than uiautomator writes in one tag; what is beyond is left out.
const maxAttrs = 64

// get returns the value of an attribute, "" where there is none.
func (t *tag) get(name string) string {
	for _, a := range t.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// markup reads tags from a dump.
type markup struct {
	rest []byte
	tag  tag // the last that next read; its attributes are reused by the next
}

// next reads the next tag and reports whether there was a whole one.
func (m *markup) next() bool {
	for {
		i := bytes.IndexByte(m.rest, '<')
		if i < 0 || i+1 >= len(m.rest) {
			return false
		}
		m.rest = m.rest[i+1:]
		if m.rest[0] == '?' || m.rest[0] == '!' { // a declaration or a comment
			continue
		}
		return m.read()
	}
}

// read reads a tag whose "<" has been taken.
func (m *markup) read() bool {
	m.tag = tag{attrs: m.tag.attrs[:0]}
	if m.rest[0] == '/' {
		m.tag.closing = true
		m.rest = m.rest[1:]
	}
	m.tag.name = m.word()
	for {
		m.rest = bytes.TrimLeft(m.rest, " \t\r\n")
		switch {
		case len(m.rest) == 0:
			return false
		case m.rest[0] == '>':
			m.rest = m.rest[1:]
			return true
		case bytes.HasPrefix(m.rest, []byte("/>")):
			m.tag.empty = true
			m.rest = m.rest[2:]
			return true
		case m.rest[0] == '<': // the tag was never ended: it counts as ended here
			return true
		}
		if !m.attribute() {
			return false
		}
	}
}

// word takes what can be a name.
func (m *markup) word() string {
	n := bytes.IndexAny(m.rest, " \t\r\n=/>\"'<")
	if n < 0 {
		n = len(m.rest)
	}
	w := string(m.rest[:n])
	m.rest = m.rest[n:]
	return w
}

// attribute takes name="value", or one byte that belongs to nothing. It
// reports false where the value is cut.
func (m *markup) attribute() bool {
	name := m.word()
	after, ok := bytes.CutPrefix(bytes.TrimLeft(m.rest, " \t\r\n"), []byte("="))
	after = bytes.TrimLeft(after, " \t\r\n")
	if !ok || name == "" || len(after) == 0 || (after[0] != '"' && after[0] != '\'') {
		if name == "" && len(m.rest) > 0 {
			m.rest = m.rest[1:]
		}
		return true
	}
	end := bytes.IndexByte(after[1:], after[0])
	if end < 0 {
		m.rest = nil
		return false
	}
	if len(m.tag.attrs) < maxAttrs {
		m.tag.attrs = append(m.tag.attrs, attr{name, repaired(after[1 : 1+end])})
	}
	m.rest = after[end+2:]
	return true
}

var entities = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"', "apos": '\''}

// maxReference is the length of the longest reference that is looked for.
const maxReference = 12

// repaired decodes the text of an attribute: references, pairs of surrogates
// whether they come as references or as bytes, and what is no character as
// U+FFFD. A reference that means nothing stays as it is.
func repaired(raw []byte) string {
	if clean(raw) {
		return string(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	for len(raw) > 0 {
		r, n := unit(raw)
		raw = raw[n:]
		if utf16.IsSurrogate(r) {
			low, n := unit(raw)
			if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
				r, raw = joined, raw[n:]
			}
		}
		b.WriteRune(r) // what is no character arrives as U+FFFD
	}
	return b.String()
}

// clean reports whether raw needs no repair: the common case.
func clean(raw []byte) bool {
	return bytes.IndexByte(raw, '&') < 0 && bytes.IndexByte(raw, 0) < 0 && utf8.Valid(raw)
}

// unit takes one character, or half of one as UTF-16 has it, from the start of
// raw, and returns its length.
func unit(raw []byte) (rune, int) {
	switch {
	case len(raw) == 0:
		return utf8.RuneError, 0
	case raw[0] == '&':
		return reference(raw)
	case raw[0] == 0:
		return utf8.RuneError, 1
	case len(raw) >= 3 && raw[0] == 0xed && raw[1] >= 0xa0 && raw[1] <= 0xbf && raw[2]&0xc0 == 0x80: // a surrogate in bytes
		return 0xd000 | rune(raw[1]&0x3f)<<6 | rune(raw[2]&0x3f), 3
	}
	return utf8.DecodeRune(raw)
}

// reference takes an entity or a character reference.
func reference(raw []byte) (rune, int) {
	end := bytes.IndexByte(raw[:min(len(raw), maxReference)], ';')
	if end < 2 {
		return '&', 1
	}
	name := string(raw[1:end])
	if r, ok := entities[name]; ok {
		return r, end + 1
	}
	digits, base := strings.CutPrefix(name, "#")
	if !base {
		return '&', 1
	}
	radix := 10
	if hex := strings.TrimLeft(digits, "xX"); len(hex) == len(digits)-1 {
		digits, radix = hex, 16
	}
	code, err := strconv.ParseUint(digits, radix, 32)
	switch {
	case err != nil:
		return '&', 1
	case code == 0 || code > utf8.MaxRune:
		return utf8.RuneError, end + 1
	}
	return rune(code), end + 1
}
