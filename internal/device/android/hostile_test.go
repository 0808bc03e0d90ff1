package android_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"interlock/internal/device"
	"interlock/internal/device/android"
)

var upright = device.Size{W: 1080, H: 2400}

// marker is a node that must be found in every dump that is whole.
const marker = `<node text="Marker" class="android.widget.Button" package="com.example" clickable="true" enabled="true" bounds="[100,200][300,260]" />`

// R-RUN-2
func TestATextIsReadThatAnXMLParserRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ raw, want string }{
		"entities":                        {"&lt;b&gt; &amp; &quot;x&quot; &apos;", `<b> & "x" '`},
		"an emoji as one reference":       {"&#128512;", "😀"},
		"an emoji in hexadecimal":         {"&#x1F600;", "😀"},
		"a surrogate pair as references":  {"&#55357;&#56832;", "😀"},
		"a surrogate pair in hexadecimal": {"&#xD83D;&#xDE00;", "😀"},
		"a surrogate pair in bytes":       {"\xed\xa0\xbd\xed\xb8\x80", "😀"},
		"a pair of both kinds":            {"&#55357;\xed\xb8\x80", "😀"},
		"half a pair":                     {"a&#55357;b", "a\ufffdb"},
		"halves in the wrong order":       {"&#56832;&#55357;", "\ufffd\ufffd"},
		"half a pair before a whole one":  {"&#55357;&#55357;&#56832;", "\ufffd😀"},
		"a reference to no character":     {"&#0;&#1114112;", "\ufffd\ufffd"},
		"a reference too large to count":  {"&#99999999;", "\ufffd"},
		"a reference without an end":      {"&#65 b", "&#65 b"},
		"an entity that nobody knows":     {"&nbsp;x", "&nbsp;x"},
		"a bare ampersand":                {"you & me", "you & me"},
		"a raw control byte":              {"a\x0bb", "a b"},
		"bytes that are no text":          {"a\xff\xfeb", "a\ufffd\ufffdb"},
		"a zero byte":                     {"a\x00b", "a\ufffdb"},
		"Hebrew":                          {"שלום", "שלום"},
		"a tag within":                    {"a > b", "a > b"},
	} {
		dump := `<?xml version='1.0'?><hierarchy rotation="0"><node text="` + c.raw + `" class="android.widget.TextView" package="com.example" bounds="[0,0][100,100]" />` + marker + `</hierarchy>`
		s, err := android.ReadDump([]byte(dump), upright)
		if err != nil || len(s.Elements) != 2 || s.Elements[0].Text != c.want {
			t.Errorf("%s: %+v, %v; want %q", name, s.Elements, err, c.want)
		}
	}
}

func TestBoundsThatMakeNoSenseAreNoElement(t *testing.T) {
	t.Parallel()
	for bounds, want := range map[string]bool{
		"[0,0][100,100]": true, "[-50,-50][100,100]": true, "[1000,2300][1200,2500]": true,
		"[100,100][0,0]": false, "[5,5][5,5]": false, "[-100,-100][-1,-1]": false, "[2000,0][2100,100]": false,
		"": false, "[0,0]": false, "[a,b][c,d]": false, "[0,0][1,1][2,2]": false, "[99999999999999999999,0][1,1]": false, "0,0,100": false,
	} {
		dump := `<hierarchy><node text="x" bounds="` + bounds + `" />` + marker + `</hierarchy>`
		s, err := android.ReadDump([]byte(dump), upright)
		if err != nil || (len(s.Elements) == 2) != want {
			t.Errorf("%q: %+v, %v; want it kept: %v", bounds, s.Elements, err, want)
		}
	}
}

func TestWhatIsOutsideItsListIsNotSeen(t *testing.T) {
	t.Parallel()
	dump := `<hierarchy><node class="android.widget.ListView" scrollable="true" bounds="[0,500][1080,1000]">
<node text="above" bounds="[0,300][1080,400]" /><node text="half" bounds="[0,900][1080,1100]" /><node text="hidden" visible-to-user="false" bounds="[0,600][1080,700]"><node text="within" visible-to-user="true" bounds="[0,600][1080,700]" /></node>
</node><node text="after" bounds="[0,1200][1080,1300]" /></hierarchy>`
	s, err := android.ReadDump([]byte(dump), upright)
	if err != nil || len(s.Elements) != 3 || s.Elements[1].Text != "half" || s.Elements[1].Bounds.Y1 != 1000 || s.Elements[2].Text != "after" {
		t.Errorf("%+v, %v", s.Elements, err)
	}
}

func TestAHugeOrDeepDumpIsRead(t *testing.T) {
	t.Parallel()
	for name, dump := range map[string]string{
		"50,000 nodes":          `<hierarchy>` + marker + strings.Repeat(`<node text="row" clickable="true" bounds="[0,0][90,90]" />`, 50_000) + `</hierarchy>`,
		"2,000 deep":            `<hierarchy>` + strings.Repeat(`<node class="g" bounds="[0,0][1080,2400]">`, 2000) + marker + strings.Repeat(`</node>`, 2000) + `</hierarchy>`,
		"2,000 deep and beside": `<hierarchy>` + strings.Repeat(`<node class="g" bounds="[0,0][1080,2400]">`, 2000) + strings.Repeat(`</node>`, 2000) + marker + `</hierarchy>`,
		"closed too often":      `<hierarchy>` + strings.Repeat(`</node>`, 5000) + marker + `</hierarchy>`,
		"200,000 attributes":    `<hierarchy><node` + strings.Repeat(` a="1"`, 200_000) + ` />` + marker + `</hierarchy>`,
		"a text of a megabyte":  `<hierarchy><node text="` + strings.Repeat("&#55357;&#56832;", 60_000) + `" bounds="[0,0][9,9]" />` + marker + `</hierarchy>`,
		"noise on both sides":   "WARNING: linker: x\n* daemon *\n<oops" + `<?xml version='1.0'?><hierarchy rotation="0">` + marker + `</hierarchy>UI hierchary dumped to: /dev/tty` + "\n<tail>",
	} {
		s, err := android.ReadDump([]byte(dump), upright)
		if err != nil || len(find(s, "Marker")) != 1 {
			t.Errorf("%s: %d elements without the one that is looked for, %v", name, len(s.Elements), err)
		}
	}
}

// hostile writes a dump that is whole, and is otherwise anything.
func hostile(r *rand.Rand) string {
	nasty := []string{"&#55357;&#56832;", "&#55357;", "&#xDE00;", "\xed\xa0\xbd", "\xed\xb8\x80", "&#0;", "&#11;", "\x0b", "\x00", "\xff\xc0", "&lt;node&gt;", "&unknown;", "&", ";", "&#;", "&#x;",
		"&#999999999999;", "שלום", "😀", "e\u0301", "\u202e", "<", ">", "'", "</hierarchy", "<!--", "]]>", " ", "a"}
	text := func() string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(nasty[r.IntN(len(nasty))])
		}
		return b.String()
	}
	number := func() int { return []int{0, 1, 100, 1079, 1080, 2400, -1, -99999, 1 << 40, r.IntN(2400)}[r.IntN(10)] }
	var b strings.Builder
	for range r.IntN(3) {
		b.WriteString(strings.ReplaceAll(text(), "</hierarchy", "") + "\n")
	}
	fmt.Fprintf(&b, `<hierarchy rotation="%d">`, number())
	at, n := r.IntN(40), 40
	open := 0
	for i := range n {
		if i == at {
			b.WriteString(strings.Repeat("</node>", open) + marker)
			open = 0
		}
		fmt.Fprintf(&b, `<node text="%s" content-desc="%s" resource-id="%s" class="android.widget.%s" package="%s" clickable="%t" password="%t" scrollable="%t" visible-to-user="%t" bounds="[%d,%d][%d,%d]"`,
			text(), text(), text(), []string{"Button", "EditText", "WebView", "X"}[r.IntN(4)], text(), r.IntN(2) == 0, r.IntN(9) == 0, r.IntN(9) == 0, r.IntN(9) != 0, number(), number(), number(), number())
		switch r.IntN(5) {
		case 0:
			b.WriteString(">")
			open++
		case 1:
			b.WriteString("></node>")
		case 2:
			b.WriteString(" junk =  / " + strings.ReplaceAll(nasty[r.IntN(len(nasty))], "</hierarchy", "") + "/>")
		default:
			b.WriteString(" />")
		}
		if open > 0 && r.IntN(4) == 0 {
			b.WriteString("</node>")
			open--
		}
	}
	return b.String() + "</hierarchy>" + text()
}

// proper checks what holds for every scene, whatever the dump was.
func proper(t *testing.T, s device.Scene) {
	t.Helper()
	for _, e := range s.Elements {
		for _, text := range []string{e.ID, e.Role, e.Text, e.Label} {
			if !utf8.ValidString(text) || utf8.RuneCountInString(text) > device.MaxTextRunes || strings.ContainsAny(text, "\x00\n\x0b") {
				t.Errorf("the text %q", text)
			}
		}
		if e.Bounds.Empty() || e.Bounds.Clip(s.Size) != e.Bounds {
			t.Errorf("the bounds %v", e.Bounds)
		}
		if e.Flags.Has(device.Password) && e.Text != "" {
			t.Error("the content of a password field is in the scene")
		}
	}
}

// R-RUN-2: five hundred dumps, each whole and cut at every kind of place.
func TestHostileDumpsAreReadOrRefused(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		dump := hostile(r)
		s, err := android.ReadDump([]byte(dump), upright)
		if err != nil || (len(find(s, "Marker")) != 1 && !strings.Contains(dump, "scrollable=\"true\"") && !strings.Contains(dump, `visible-to-user="false"`)) {
			t.Fatalf("seed %d: %v, %+v of %q", seed, err, s.Elements, dump)
		}
		proper(t, s)
		end := strings.LastIndex(dump, "</hierarchy>") + len("</hierarchy>")
		for range 8 {
			cut := r.IntN(end)
			s, err := android.ReadDump([]byte(dump[:cut]), upright)
			if err == nil && !strings.Contains(dump[:cut], "</hierarchy>") {
				t.Fatalf("seed %d: cut at %d of %d, it was read as %+v", seed, cut, len(dump), s.Elements)
			}
			proper(t, s)
		}
	}
}

func TestADumpThatIsCutIsSaidToBe(t *testing.T) {
	t.Parallel()
	whole := `<?xml version='1.0'?><hierarchy rotation="0"><node class="g" bounds="[0,0][9,9]">` + marker + `</node></hierarchy>`
	for cut := strings.Index(whole, "<hierarchy") + len("<hierarchy"); cut < len(whole); cut++ {
		if _, err := android.ReadDump([]byte(whole[:cut]), upright); !errors.Is(err, android.ErrTreeCut) {
			t.Fatalf("cut to %q: %v", whole[:cut], err)
		}
	}
}

func FuzzReadDump(f *testing.F) {
	f.Add([]byte(`<hierarchy rotation="1">` + marker + `</hierarchy>`))
	for seed := range uint64(20) {
		f.Add([]byte(hostile(rand.New(rand.NewPCG(seed, 7)))))
	}
	f.Fuzz(func(t *testing.T, dump []byte) {
		if s, err := android.ReadDump(dump, upright); err == nil {
			proper(t, s)
		}
	})
}
