package wordpress_test

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
)

// R-BRIDGE-9: every file is PHP to this version of it, and none of the plugin's
// does anything where it is called by itself. Reading them all here also tells
// Go's test cache what the tests depend on.
func TestEveryFileIsPHP(t *testing.T) {
	t.Parallel()
	count := 0
	for _, root := range []string{pluginFolder(t), "testdata"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".php" {
				return err
			}
			count++
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			guarded := strings.Contains(string(source), "\ndefined( 'ABSPATH' ) || exit;\n") || strings.Contains(string(source), "\ndefined( 'WP_UNINSTALL_PLUGIN' ) || exit;\n")
			if root != "testdata" && !guarded {
				t.Errorf("%s does not end where it is called by itself", path)
			}
			out, err := exec.Command(program(t, *php), "-l", path).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "No syntax errors") {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 30 {
		t.Errorf("only %d files were found", count)
	}
}

var passedUnits = regexp.MustCompile(`\Aok [1-9][0-9]*\n\z`)

// unit runs a script of testdata/unit.
func unit(t *testing.T, name string, env ...string) {
	t.Helper()
	cmd := exec.Command(program(t, *php), filepath.Join("testdata", "unit", name+".php"))
	cmd.Env = append(append(os.Environ(), "INTERLOCK_PLUGIN="+pluginFolder(t)), env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !passedUnits.Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

// R-BRIDGE-9
func TestAddressesOfGateways(t *testing.T) {
	t.Parallel()
	unit(t, "address")
}

// R-BRIDGE-4
func TestThePermit(t *testing.T) {
	t.Parallel()
	unit(t, "permit")
}

// R-BRIDGE-9
func TestEnvelopesAndAnswersAreReadStrictly(t *testing.T) {
	t.Parallel()
	unit(t, "envelope")
}

// R-BRIDGE-1
func TestTokensAndThumbprints(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	unit(t, "token", "INTERLOCK_KEY="+k.path, "INTERLOCK_THUMBPRINT="+site.Thumbprint(&k.private.PublicKey))
}

// R-BRIDGE-4: the plugin and the gateway's selector agree on when an ABN
// stands in an instruction.
func TestABNsAndWhereTheyStand(t *testing.T) {
	t.Parallel()
	type example struct {
		Text   string `json:"text"`
		ABN    string `json:"abn"`
		Stands bool   `json:"stands"`
	}
	const abn = "51824753556"
	var examples []example
	stand := 0
	for _, text := range instructions(abn) {
		e := example{Text: text, ABN: abn, Stands: selector.Stands(text, abn)}
		if e.Stands {
			stand++
		}
		examples = append(examples, e)
	}
	if stand < len(examples)/10 || stand > len(examples)*9/10 {
		t.Fatalf("the ABN stands in %d of %d examples, which proves little", stand, len(examples))
	}
	b, err := json.Marshal(examples)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	unit(t, "abn", "INTERLOCK_CASES="+path)
}

// instructions are texts around the ABN: what people write, and what lies at
// the edges of the rules, each piece beside each.
func instructions(abn string) (out []string) {
	pieces := []string{"", " ", "  ", "\t", "\n", "\u00a0", "\u2009", "\u2003", "-", "--", "\u2010", "\u2013", "\u2212", ".", ".5", "5.", "/", "/5", "5/", ",", "+", "_", "(", ")",
		"x", "x-", "-x", "é", "e\u0301", "5", "5 ", " 5", "5-", "-5", " 5 ", "٥", "٥ ", " ٥", "\u200b", "\u200b ", " \u200b", "\u00ad", "\u202e", "\ufeff", "\u115f", "\u3164", "\ufe0f", "\U000e0061", "\x00", "\x1f",
		"ABN", "abn ", "ABN-", "ABN:", "xABN", "x ABN", "A.B.N. ", "²", "Ⅷ", "‿", "٫", "😀", "\u0085", "\u2028"}
	digits := strings.Split(abn, "")
	random := rand.New(rand.NewPCG(1, 2))
	separators := []string{"", "", "", "", " ", "-", "\u00a0", "\u2011", "\u2212"}
	written := func() string {
		var b strings.Builder
		for i, d := range digits {
			if i > 0 {
				b.WriteString(separators[random.IntN(len(separators))])
			}
			b.WriteString(d)
		}
		return b.String()
	}
	for _, before := range pieces {
		for _, behind := range pieces {
			out = append(out, before+written()+behind)
		}
		out = append(out, abn[:5]+before+abn[5:], "x "+before+abn+" y", before+abn+" and "+abn)
	}
	return out
}
