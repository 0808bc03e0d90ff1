package abnindex

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"interlock/internal/store/abnindex/abnextract"
)

// scanned is a document as the scanner sees it, one line a token.
func scanned(src io.Reader) (string, error) {
	var out strings.Builder
	s := newScanner(src)
	for {
		s.allow(maxRecord)
		t, err := s.next()
		if err != nil {
			return "", err
		}
		switch t {
		case startTag:
			fmt.Fprintf(&out, "start %s", s.name)
			for _, a := range s.attrs {
				fmt.Fprintf(&out, " %s=%q", a.name, unixed(string(a.value)))
			}
			out.WriteString("\n")
		case endTag:
			fmt.Fprintf(&out, "end %s\n", s.name)
		case characters:
			fmt.Fprintf(&out, "text %q\n", unixed(string(s.text)))
		case endOfFile:
			return out.String(), nil
		}
	}
}

// decoded is the same as the standard library sees it.
func decoded(src io.Reader) (string, error) {
	var out strings.Builder
	d := xml.NewDecoder(src)
	depth := 0
	for {
		t, err := d.RawToken()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			fmt.Fprintf(&out, "start %s", qualified(t.Name))
			for _, a := range t.Attr {
				fmt.Fprintf(&out, " %s=%q", qualified(a.Name), unixed(a.Value))
			}
			out.WriteString("\n")
		case xml.EndElement:
			depth--
			fmt.Fprintf(&out, "end %s\n", qualified(t.Name))
		case xml.CharData:
			if depth > 0 {
				fmt.Fprintf(&out, "text %q\n", unixed(string(t)))
			}
		}
	}
}

func qualified(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// unixed ends lines as XML says that a reader must; the scanner leaves that to
// whoever makes all blanks one.
func unixed(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// wantSameTokens checks what the scanner accepts against the standard library,
// and that it does not matter in which pieces a document comes.
func wantSameTokens(t *testing.T, document string) {
	t.Helper()
	got, err := scanned(strings.NewReader(document))
	piecewise, pieceErr := scanned(iotest.OneByteReader(strings.NewReader(document)))
	if got != piecewise || fmt.Sprint(err) != fmt.Sprint(pieceErr) {
		t.Errorf("%q: at once\n%s%v\nbyte by byte\n%s%v", document, got, err, piecewise, pieceErr)
	}
	if err != nil {
		return
	}
	want, err := decoded(strings.NewReader(document))
	if err != nil {
		t.Errorf("%q is accepted, but not by the standard library: %v", document, err)
	} else if got != want {
		t.Errorf("%q is read as\n%sand by the standard library as\n%s", document, got, want)
	}
}

// readable are documents that the scanner must read.
var readable = map[string]string{
	"an empty root":                      `<a/>`,
	"a declaration and a byte mark":      "\ufeff<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a></a>\n",
	"single quotes":                      `<?xml version='1.0' encoding='utf-8' standalone='yes'?><a b='c"d'/>`,
	"the five entities":                  `<a b="&lt;&gt;&amp;&quot;&apos;">&lt;&gt;&amp;&quot;&apos;</a>`,
	"character references":               `<a>&#201;&#xC9;&#x1F680;&#10;</a>`,
	"a > and quotes inside an attribute": `<a b="x > y" c='"/>"'>t</a>`,
	"a > in a text":                      `<a>x > y</a>`,
	"CDATA":                              `<a>x<![CDATA[<&]]]>y</a>`,
	"comments and instructions":          `<!-- x --><?go on?><a><!-- - -->t<?x?></a><!---->`,
	"blanks in tags":                     "<a \n b = \"c\"\t></a >",
	"prefixes":                           `<x:a xmlns:x="urn:x" x:b="c"><x:d/></x:a>`,
	"lines that end as on Windows":       "<a>\r\n<b c=\"d\r\ne\"/>\r</a>\r\n",
	"letters of other scripts":           `<a>É 東京 🚀</a>`,
}

// R-BRIDGE-8
func TestTheScannerReadsWhatTheStandardLibraryReads(t *testing.T) {
	t.Parallel()
	for name, document := range readable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := scanned(strings.NewReader(document)); err != nil {
				t.Errorf("%q is refused: %v", document, err)
			}
			wantSameTokens(t, document)
		})
	}
	var extract strings.Builder
	if err := (abnextract.Extract{Seed: 3, Records: 300, At: written}).WritePart(&extract, 0); err != nil {
		t.Fatal(err)
	}
	wantSameTokens(t, extract.String())
}

// hostile are documents that the scanner must refuse, and for what.
var hostile = []struct{ name, document, want string }{
	{"nothing", "", "there is no XML"},
	{"text without an element", "hello", "outside the root"},
	{"a document type", `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, "document type"},
	{"an external entity", `<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>`, "document type"},
	{"a billion laughs without their definition", `<a>&lol9;</a>`, "five of XML"},
	{"an entity without an end", `<a>&amp</a>`, "five of XML"},
	{"a reference to no character", `<a>&#0;</a>`, "five of XML"},
	{"a reference to half a character", `<a>&#xD800;</a>`, "five of XML"},
	{"a reference beyond all characters", `<a>&#x110000;</a>`, "five of XML"},
	{"a reference with a sign", `<a>&#+65;</a>`, "five of XML"},
	{"bytes that are no UTF-8", "<a>\xff\xfe</a>", "not text in UTF-8"},
	{"an overlong encoding", "<a>\xc0\xbc</a>", "not text in UTF-8"},
	{"a NUL", "<a>\x00</a>", "not text in UTF-8"},
	{"a control character in an attribute", "<a b=\"\x1b[2J\"/>", "not text in UTF-8"},
	{"UTF-16", "\xff\xfe<\x00a\x00/\x00>\x00", "not in UTF-8"},
	{"a declared Latin 1", `<?xml version="1.0" encoding="ISO-8859-1"?><a/>`, "declared as UTF-8"},
	{"another version of XML", `<?xml version="1.1"?><a/>`, "declaration"},
	{"a declaration in the middle", `<a><?xml version="1.0"?></a>`, "declaration"},
	{"an end tag of another element", `<a><b></a></b>`, "another element"},
	{"an end tag too many", `<a></a></a>`, "another element"},
	{"an element that does not end", `<a><b></b>`, "inside an element"},
	{"a tag that does not end", `<a><b`, "does not end"},
	{"a quote that does not end", `<a b="c></a>`, "does not end"},
	{"two roots", `<a/><b/>`, "second root"},
	{"text behind the root", `<a/>x`, "outside the root"},
	{"CDATA outside the root", `<![CDATA[x]]><a/>`, "outside the root"},
	{"an attribute twice", `<a b="1" b="2"/>`, "twice"},
	{"attributes without a blank between", `<a b="1"c="2"/>`, "malformed"},
	{"an attribute without quotes", `<a b=1/>`, "malformed"},
	{"an attribute with a <", `<a b="<"/>`, "holds a <"},
	{"a name outside ASCII", `<é/>`, "no proper name"},
	{"a name of two prefixes", `<a:b:c/>`, "no proper name"},
	{"a blank behind the slash", `<a/ >`, "malformed"},
	{"a blank before the name", `< a/>`, "no proper name"},
	{"]]> in a text", `<a>]]></a>`, "]]>"},
	{"two hyphens in a comment", `<a><!-- x -- y --></a>`, "comment is malformed"},
	{"many elements inside one another", strings.Repeat("<a>", maxDepth+1), "inside one another"},
	{"many attributes", "<a" + manyAttributes(maxAttrs+1) + "/>", "attributes"},
	{"a long name", "<" + strings.Repeat("a", maxName+1) + "/>", "no proper name"},
	{"a long text", "<a>" + strings.Repeat("x", maxToken+1) + "</a>", "longer than"},
	{"a long attribute", `<a b="` + strings.Repeat("x", maxToken+1) + `"/>`, "longer than"},
	{"a long comment", "<a><!--" + strings.Repeat("x", maxToken+1) + "--></a>", "longer than"},
	{"a long CDATA", "<a><![CDATA[" + strings.Repeat("x", maxToken+1) + "]]></a>", "longer than"},
	{"a long run of blanks outside", strings.Repeat(" ", maxToken+1) + "<a/>", "longer than"},
}

func manyAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d="x"`, i)
	}
	return b.String()
}

// R-BRIDGE-8
func TestHostileDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for kind, src := range map[string]io.Reader{"at once": strings.NewReader(c.document), "byte by byte": iotest.OneByteReader(strings.NewReader(c.document))} {
				if got, err := scanned(src); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: read as %q, %v; want a refusal with %q", kind, got, err, c.want)
				}
			}
		})
	}
}

// R-BRIDGE-8
func TestOneRecordIsBounded(t *testing.T) {
	t.Parallel()
	s := newScanner(strings.NewReader("<a>" + strings.Repeat("<b>x</b>", maxRecord/8) + "</a>"))
	for {
		t1, err := s.next()
		if err != nil {
			if !strings.Contains(err.Error(), "larger than") {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if t1 == endOfFile {
			t.Fatal("a record larger than the bound is read to its end")
		}
	}
}

// R-BRIDGE-8
func TestAFailureToReadIsNotTakenForTheEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, err := scanned(io.MultiReader(strings.NewReader("<a/>"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// FuzzScan looks for a document that the scanner accepts and the standard
// library reads differently, or not at all.
func FuzzScan(f *testing.F) {
	for _, document := range readable {
		f.Add(document)
	}
	for _, c := range hostile {
		if len(c.document) < 1000 {
			f.Add(c.document)
		}
	}
	f.Fuzz(wantSameTokens)
}
