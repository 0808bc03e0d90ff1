package wordpress_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the plugin's catalogue of texts")

// A text for translators, as the plugin writes it: single quotes, and the
// plugin's own text domain.
var (
	textCall   = regexp.MustCompile(`\b(?:__|_e|esc_html__|esc_attr__|esc_html_e|esc_attr_e)\(\s*`)
	wholeCall  = regexp.MustCompile(`^(?:__|_e|esc_html__|esc_attr__|esc_html_e|esc_attr_e)\(\s*'((?:[^'\\]|\\.)*)', 'interlock-bridge'\s*\)`)
	translator = regexp.MustCompile(`/\* (translators: .*?) \*/\s*\n[^\n]*$`)
)

// text is one that translators get.
type text struct {
	said    string
	places  []string // file:line
	comment string
}

// texts reads all of them out of the plugin, by their first place.
func texts(t *testing.T) []*text {
	t.Helper()
	root := pluginFolder(t)
	byWords := map[string]*text{}
	var all []*text
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".php" {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		for _, at := range textCall.FindAllIndex(source, -1) {
			found := wholeCall.FindSubmatch(source[at[0]:])
			place := fmt.Sprintf("%s:%d", filepath.ToSlash(name), 1+strings.Count(string(source[:at[0]]), "\n"))
			if found == nil {
				t.Errorf("%s: this text has no literal in single quotes, or not the plugin's text domain", place)
				continue
			}
			said := strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(string(found[1]))
			if byWords[said] == nil {
				byWords[said] = &text{said: said}
				all = append(all, byWords[said])
			}
			x := byWords[said]
			x.places = append(x.places, place)
			if c := translator.FindSubmatch(source[:at[0]]); c != nil {
				x.comment = string(c[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// catalogue is the .pot file of the texts.
func catalogue(all []*text) string {
	var b strings.Builder
	b.WriteString("# Texts of Interlock Bridge. This file is under the licence of the plugin.\n" +
		"msgid \"\"\nmsgstr \"\"\n\"Project-Id-Version: Interlock Bridge 0.1.0\\n\"\n\"MIME-Version: 1.0\\n\"\n" +
		"\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n\"X-Domain: interlock-bridge\\n\"\n")
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, x := range all {
		b.WriteString("\n")
		if x.comment != "" {
			fmt.Fprintf(&b, "#. %s\n", x.comment)
		}
		for _, place := range x.places {
			file, _, _ := strings.Cut(place, ":")
			if line := "#: " + file + "\n"; !strings.HasSuffix(b.String(), line) {
				b.WriteString(line)
			}
		}
		if strings.Contains(x.said, "%") {
			b.WriteString("#, php-format\n")
		}
		fmt.Fprintf(&b, "msgid \"%s\"\nmsgstr \"\"\n", quote.Replace(x.said))
	}
	return b.String()
}

// R-BRIDGE-9: translators get every text, each with its comment where it has
// places to fill.
func TestTheCatalogueOfTextsIsUpToDate(t *testing.T) {
	t.Parallel()
	all := texts(t)
	if len(all) < 50 {
		t.Fatalf("only %d texts found", len(all))
	}
	for _, x := range all {
		if strings.Contains(x.said, "%") && x.comment == "" {
			t.Errorf("%v: %q has places to fill and no comment for translators", x.places, x.said)
		}
	}
	want := catalogue(all)
	path := filepath.Join(pluginFolder(t), "languages", "interlock-bridge.pot")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not up to date (%v); run: go test ./test/wordpress -run Catalogue -update", path, err)
	}
}

// R-BRIDGE-9: what the readme says of versions is what the plugin's header says.
func TestTheReadmeAgreesWithTheHeader(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(pluginFolder(t), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	header, readme := read("interlock-bridge.php"), read("readme.txt")
	for inHeader, inReadme := range map[string]string{"Version": "Stable tag", "Requires at least": "Requires at least", "Requires PHP": "Requires PHP", "License": "License", "Plugin Name": ""} {
		said := regexp.MustCompile(`(?m)^ \* ` + inHeader + `:\s+(.+)$`).FindStringSubmatch(header)
		if said == nil {
			t.Errorf("the header has no %s", inHeader)
			continue
		}
		want := inReadme + ": " + said[1]
		if inReadme == "" {
			want = "=== " + said[1] + " ==="
		}
		if !slices.Contains(strings.Split(readme, "\n"), want) {
			t.Errorf("the readme does not say %q", want)
		}
	}
	if !strings.Contains(header, "define( 'INTERLOCK_BRIDGE_VERSION', '"+regexp.MustCompile(`Stable tag: (.+)`).FindStringSubmatch(readme)[1]+"' );") {
		t.Error("the constant of the version is another than the readme's")
	}
	for _, want := range []string{"== Installation ==", "== External services ==", "== Changelog =="} {
		if !strings.Contains(readme, want) {
			t.Errorf("the readme has no section %s", want)
		}
	}
	short := strings.Split(readme, "\n\n")[1]
	if len(short) > 150 {
		t.Errorf("the short description has %d characters, and 150 are shown", len(short))
	}
}
