package abnindex

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// The bounds of a document. What the register writes stays far below them.
const (
	maxToken  = 64 << 10 // bytes of one tag, text, comment or instruction
	maxRecord = 1 << 20  // bytes of one record; 300 names of a real one are 50 KB
	maxDepth  = 16       // elements inside one another; the register's are 6
	maxAttrs  = 16       // of one tag
	maxName   = 64       // bytes of an element's or attribute's name
)

// token is what the scanner stands at.
type token uint8

const (
	startTag token = iota + 1
	endTag
	characters
	endOfFile
)

// scanner reads the small part of XML that extracts are written in, with
// memory that no input makes grow: elements, attributes, text, the five
// entities, character references, CDATA; comments and instructions are passed
// over. Document types are refused, and with them every other entity; so are
// other encodings than UTF-8 and names outside ASCII. What it accepts,
// encoding/xml reads the same. It bounds each token, which encoding/xml does
// not, and whole records come out of it more than three times as fast as only
// the tokens out of encoding/xml (measured: BenchmarkRead), which counts with
// twelve gigabytes.
type scanner struct {
	src       io.Reader
	buf       []byte
	at, end   int // buf[at:end] is not read yet
	exhausted bool
	begun     bool // something came before: no byte order mark or declaration may follow
	rooted    bool // the root element has begun

	// left is how many bytes may come before the next call of allow.
	left int

	path  []byte // names of the open elements, joined
	depth []int  // where each begins in path

	// Of the token; valid until the next one.
	name   []byte
	attrs  []attr
	text   []byte
	closed bool // name's tag closes itself: its endTag comes next

	scratch []byte
}

type attr struct{ name, value []byte }

// errDamaged wraps a failure of the file below the text: a checksum, a stream
// that ends early.
var errDamaged = errors.New("the file is damaged or cut short; download it again")

func newScanner(src io.Reader) *scanner {
	return &scanner{src: src, buf: make([]byte, 4*maxToken), left: maxRecord, attrs: make([]attr, 0, maxAttrs)}
}

// allow starts the count of bytes for what comes next.
func (s *scanner) allow(bytes int) { s.left = bytes }

// attr returns the value of the start tag's attribute, nil if it has none.
func (s *scanner) attr(name string) []byte {
	for _, a := range s.attrs {
		if string(a.name) == name {
			return a.value
		}
	}
	return nil
}

// next moves to the next token. Its errors are clauses fit for a person; they
// do not repeat what the file holds, but for names.
func (s *scanner) next() (token, error) {
	if s.closed {
		s.closed = false
		s.pop()
		return endTag, nil
	}
	for {
		c, err := s.peek(0)
		if err != nil {
			return 0, err
		}
		switch {
		case c == none && len(s.depth) > 0:
			return 0, fmt.Errorf("the file ends inside an element: %w", errDamaged)
		case c == none && !s.rooted:
			return 0, errors.New("there is no XML in it")
		case c == none:
			return endOfFile, nil
		case c != '<':
			some, err := s.characters()
			if some || err != nil {
				return characters, err
			}
			continue
		}
		kind, err := s.markup()
		if kind != 0 || err != nil {
			return kind, err
		}
	}
}

// none is what peek returns behind the last byte.
const none = -1

// peek returns the byte i places ahead.
func (s *scanner) peek(i int) (int, error) {
	for s.at+i >= s.end {
		if s.exhausted {
			return none, nil
		}
		if err := s.fill(); err != nil {
			return none, err
		}
	}
	return int(s.buf[s.at+i]), nil
}

// fill reads more, keeping what is not read yet.
func (s *scanner) fill() error {
	if s.at > 0 {
		s.end = copy(s.buf, s.buf[s.at:s.end])
		s.at = 0
	}
	for range 100 {
		n, err := s.src.Read(s.buf[s.end:])
		s.end += n
		switch {
		case err == io.EOF:
			s.exhausted = true
			return s.mark()
		case err != nil:
			return err
		case n > 0:
			return s.mark()
		}
	}
	return io.ErrNoProgress
}

// mark passes over the byte order mark that may stand at the very beginning.
func (s *scanner) mark() error {
	if s.begun || s.end-s.at < 3 && !s.exhausted {
		return nil
	}
	s.begun = true
	head := s.buf[s.at:s.end]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		s.at += 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return errors.New("it is not in UTF-8")
	}
	return nil
}

// find returns how far away the first of the delimiters is, looking from the
// given place on.
func (s *scanner) find(from int, delimiter, what string) (int, error) {
	for {
		// The delimiter may lie across the end of what has come.
		if i := bytes.Index(s.buf[min(s.at+from, s.end):s.end], []byte(delimiter)); i >= 0 && from+i <= maxToken {
			return from + i, nil
		}
		if s.end-s.at > maxToken {
			return 0, fmt.Errorf("%s is longer than %d bytes", what, maxToken)
		}
		if s.exhausted {
			return 0, fmt.Errorf("%s does not end: %w", what, errDamaged)
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// take returns the next n bytes and passes over them.
func (s *scanner) take(n int) ([]byte, error) {
	if s.left -= n; s.left < 0 {
		return nil, fmt.Errorf("a record is larger than %d bytes", maxRecord)
	}
	b := s.buf[s.at : s.at+n]
	s.at += n
	return b, nil
}

// characters reads text up to the next tag. Outside the root element only
// blanks are allowed, and none of them is reported.
func (s *scanner) characters() (some bool, err error) {
	n, err := s.find(0, "<", "a text")
	if err != nil {
		if len(s.depth) > 0 || !s.exhausted || s.end-s.at > maxToken {
			return false, err
		}
		n = s.end - s.at
	}
	raw, err := s.take(n)
	if err != nil {
		return false, err
	}
	if len(s.depth) == 0 {
		if len(bytes.Trim(raw, " \t\r\n")) > 0 {
			return false, errors.New("there is text outside the root element")
		}
		return false, nil
	}
	if bytes.Contains(raw, []byte("]]>")) {
		return false, errors.New("]]> stands in a text")
	}
	s.scratch = s.scratch[:0]
	s.text, err = s.unescape(raw)
	return true, err
}

// markup reads what begins with "<"; the token is 0 if it is passed over.
func (s *scanner) markup() (token, error) {
	second, err := s.peek(1)
	if err != nil {
		return 0, err
	}
	switch second {
	case '/':
		return endTag, s.endTag()
	case '?':
		return 0, s.instruction()
	case '!':
		return s.declaration()
	}
	return startTag, s.startTag()
}

func (s *scanner) endTag() error {
	n, err := s.find(2, ">", "a tag")
	if err != nil {
		return err
	}
	raw, err := s.take(n + 1)
	if err != nil {
		return err
	}
	name := bytes.TrimRight(raw[2:n], " \t\r\n")
	if len(s.depth) == 0 || !bytes.Equal(name, s.path[s.depth[len(s.depth)-1]:]) {
		return errors.New("an end tag closes another element than the open one")
	}
	s.pop()
	return nil
}

// pop leaves the innermost element, whose name stays readable.
func (s *scanner) pop() {
	last := len(s.depth) - 1
	s.name = s.path[s.depth[last]:]
	s.path, s.depth = s.path[:s.depth[last]], s.depth[:last]
}

func (s *scanner) startTag() error {
	n, err := s.tagLength()
	if err != nil {
		return err
	}
	raw, err := s.take(n + 1)
	if err != nil {
		return err
	}
	body := raw[1:n]
	if s.closed = len(body) > 0 && body[len(body)-1] == '/'; s.closed {
		body = body[:len(body)-1]
	}
	name, rest := cutName(body)
	if len(name) == 0 {
		return errors.New("a tag has no proper name")
	}
	switch {
	case len(s.depth) == 0 && s.rooted:
		return errors.New("there is a second root element")
	case len(s.depth) == maxDepth:
		return fmt.Errorf("more than %d elements stand inside one another", maxDepth)
	}
	s.rooted = true
	s.depth = append(s.depth, len(s.path))
	s.path = append(s.path, name...)
	s.name = s.path[len(s.path)-len(name):]
	return s.attributes(rest)
}

// tagLength returns where the ">" of a start tag is, which is not one inside
// quotes.
func (s *scanner) tagLength() (int, error) {
	from := 1
	for {
		end, err := s.find(from, ">", "a tag")
		if err != nil {
			return 0, err
		}
		open := quoteOpen(s.buf[s.at+1 : s.at+end])
		if open == 0 {
			return end, nil
		}
		shut, err := s.find(end+1, string(open), "a tag")
		if err != nil {
			return 0, err
		}
		from = shut + 1
	}
}

// quoteOpen returns the quote that is open at the end of a tag's part; 0: none.
func quoteOpen(b []byte) rune {
	var open byte
	for _, c := range b {
		switch {
		case open == 0 && (c == '"' || c == '\''):
			open = c
		case c == open:
			open = 0
		}
	}
	return rune(open)
}

// attributes reads a tag behind its name.
func (s *scanner) attributes(b []byte) error {
	s.attrs, s.scratch = s.attrs[:0], s.scratch[:0]
	for {
		trimmed := bytes.TrimLeft(b, " \t\r\n")
		if len(trimmed) == 0 {
			return nil
		}
		if len(trimmed) == len(b) {
			return errors.New("a tag is malformed")
		}
		name, rest := cutName(trimmed)
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("="))
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(name) == 0 || !ok || len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' {
			return errors.New("an attribute is malformed")
		}
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return errors.New("an attribute is malformed")
		}
		if err := s.attribute(name, rest[1:1+end]); err != nil {
			return err
		}
		b = rest[end+2:]
	}
}

func (s *scanner) attribute(name, raw []byte) error {
	switch {
	case bytes.IndexByte(raw, '<') >= 0:
		return errors.New("an attribute holds a <")
	case s.attr(string(name)) != nil:
		return errors.New("a tag has an attribute twice")
	case len(s.attrs) == maxAttrs:
		return fmt.Errorf("a tag has more than %d attributes", maxAttrs)
	}
	value, err := s.unescape(raw)
	s.attrs = append(s.attrs, attr{name, value})
	return err
}

// cutName splits b behind the name that it begins with; an empty one is none.
func cutName(b []byte) (name, rest []byte) {
	i := 0
	for i < len(b) && (isLetter(b[i]) || i > 0 && (b[i] >= '0' && b[i] <= '9' || b[i] == '-' || b[i] == '.' || b[i] == ':')) {
		i++
	}
	if i > maxName || bytes.Count(b[:i], []byte(":")) > 1 || i > 0 && b[i-1] == ':' {
		return nil, b
	}
	return b[:i], b[i:]
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// instruction passes over <?…?>. The XML declaration, which only may come
// first, must not name another encoding or version.
func (s *scanner) instruction() error {
	n, err := s.find(2, "?>", "an instruction")
	if err != nil {
		return err
	}
	raw, err := s.take(n + 2)
	if err != nil {
		return err
	}
	target, rest := cutName(raw[2:n])
	switch {
	case len(target) == 0:
		return errors.New("an instruction is malformed")
	case !validText(rest):
		return errNotText
	case !bytes.EqualFold(target, []byte("xml")):
		return nil
	}
	version, encoding := pseudo(rest, "version"), pseudo(rest, "encoding")
	switch {
	case string(target) != "xml" || version != "1.0" || s.rooted:
		return errors.New("the XML declaration is malformed")
	case encoding != "" && encoding != "utf-8":
		return errors.New("it is not declared as UTF-8")
	}
	return nil
}

// pseudo returns the value that a declaration gives a name, in lower case.
func pseudo(b []byte, name string) string {
	_, rest, found := bytes.Cut(b, []byte(name))
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("="))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if !found || !ok || len(rest) == 0 {
		return ""
	}
	value, _, _ := bytes.Cut(rest[1:], rest[:1])
	return string(bytes.ToLower(value))
}

// declaration reads <!…: a comment is passed over, CDATA is text, anything else
// is refused.
func (s *scanner) declaration() (token, error) {
	for i := range len("<![CDATA[") { // so that the head is there to be looked at
		if c, err := s.peek(i); err != nil || c == none {
			break
		}
	}
	head := s.buf[s.at:s.end]
	switch {
	case bytes.HasPrefix(head, []byte("<!--")):
		return 0, s.comment()
	case bytes.HasPrefix(head, []byte("<![CDATA[")):
		return characters, s.cdata()
	}
	return 0, errors.New("it holds a document type or another declaration, which is not allowed")
}

func (s *scanner) comment() error {
	n, err := s.find(4, "--", "a comment")
	if err != nil {
		return err
	}
	if c, err := s.peek(n + 2); err != nil || c != '>' {
		return errors.New("a comment is malformed")
	}
	raw, err := s.take(n + 3)
	if err == nil && !validText(raw) {
		err = errNotText
	}
	return err
}

func (s *scanner) cdata() error {
	const head = len("<![CDATA[")
	n, err := s.find(head, "]]>", "a text")
	if err != nil {
		return err
	}
	raw, err := s.take(n + 3)
	if err != nil {
		return err
	}
	if s.text = raw[head:n]; len(s.depth) == 0 {
		return errors.New("there is text outside the root element")
	}
	if !validText(s.text) {
		return errNotText
	}
	return nil
}

var errNotText = errors.New("it holds bytes that are not text in UTF-8")

// unescape returns raw with its entities and character references replaced.
// Where there are any, the result lies in scratch.
func (s *scanner) unescape(raw []byte) ([]byte, error) {
	if !validText(raw) {
		return nil, errNotText
	}
	i := bytes.IndexByte(raw, '&')
	if i < 0 {
		return raw, nil
	}
	start := len(s.scratch)
	for i >= 0 {
		s.scratch = append(s.scratch, raw[:i]...)
		reference, rest, ok := bytes.Cut(raw[i+1:], []byte(";"))
		r, known := character(reference)
		if !ok || !known {
			return nil, errors.New("it holds an entity other than the five of XML")
		}
		s.scratch = utf8.AppendRune(s.scratch, r)
		raw = rest
		i = bytes.IndexByte(raw, '&')
	}
	s.scratch = append(s.scratch, raw...)
	return s.scratch[start:], nil
}

// character returns what stands for "&" reference ";".
func character(reference []byte) (rune, bool) {
	switch string(reference) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := bytes.CutPrefix(reference, []byte("#"))
	if !ok || len(digits) > 8 {
		return 0, false
	}
	base := 10
	if hex, ok := bytes.CutPrefix(digits, []byte("x")); ok {
		base, digits = 16, hex
	}
	n, err := strconv.ParseUint(string(digits), base, 21)
	return rune(n), err == nil && validRune(rune(n))
}

// validText reports whether b is UTF-8 and holds only characters of XML.
func validText(b []byte) bool {
	ascii := true
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(b) && !bytes.Contains(b, []byte("\uFFFE")) && !bytes.Contains(b, []byte("\uFFFF"))
}

// validRune reports whether XML allows the character.
func validRune(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != 0xFFFE && r != 0xFFFF && utf8.ValidRune(r)
}
