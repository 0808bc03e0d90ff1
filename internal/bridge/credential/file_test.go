package credential_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"interlock/internal/bridge/credential"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
)

// keyBytes reads the newest key of a keyset file.
func keyBytes(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Keys []struct {
			Key []byte `json:"key"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(b, &f); err != nil || len(f.Keys) == 0 {
		t.Fatal(err, len(f.Keys))
	}
	return f.Keys[len(f.Keys)-1].Key
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// R-BRIDGE-5
func TestAKeysetFileIsMadeOnceAndGrows(t *testing.T) {
	t.Parallel()
	path, clock := filepath.Join(t.TempDir(), "keyset.json"), clocktest.New()
	first, err := credential.CreateKeyset(path, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	made := mustRead(t, path)
	if _, err := credential.CreateKeyset(path, clock.Now()); fault.Of(err).Code != "keyset_exists" || mustRead(t, path) != made {
		t.Errorf("to make it again: %v", err)
	}
	second, err := credential.AddKey(path, clock.Now())
	if err != nil || second == first {
		t.Fatalf("another key: %q, %v", second, err)
	}
	k, err := credential.OpenKeyset(path)
	if err != nil || k.Primary() != second {
		t.Fatalf("the primary key is %v, %v; want %s", k, err, second)
	}
	var f struct {
		Primary string `json:"primary"`
		Keys    []struct {
			ID      string `json:"id"`
			Key     []byte `json:"key"`
			Created string `json:"created"`
		} `json:"keys"`
	}
	if err := json.Unmarshal([]byte(mustRead(t, path)), &f, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if f.Primary != second || len(f.Keys) != 2 || f.Keys[0].ID != first || len(f.Keys[1].Key) != 32 || f.Keys[0].Created != "2026-11-30T12:00:00Z" ||
		!strings.Contains(made, base64.StdEncoding.EncodeToString(f.Keys[0].Key)) {
		t.Errorf("the file has primary %q and %d keys", f.Primary, len(f.Keys))
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	third, err := credential.AddKey(link, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if k, err := credential.OpenKeyset(path); err != nil || k.Primary() != third {
		t.Errorf("a key added through a link is not in the file: %v", err)
	}
	for _, p := range []string{path, link} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".keyset-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := credential.CreateKeyset(filepath.Join(path, "x"), clock.Now()); fault.Of(err).Code != "keyset_unwritable" {
		t.Errorf("a folder that is a file: %v", err)
	}
	if _, err := credential.AddKey(path+".none", clock.Now()); fault.Of(err).Code != "keyset_missing" {
		t.Errorf("to add to no file: %v", err)
	}
}

// A key that was named and is not in the file would take with it whatever a
// server seals meanwhile. R-BRIDGE-5
func TestKeysAddedAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	path, clock := filepath.Join(t.TempDir(), "keyset.json"), clocktest.New()
	if _, err := credential.CreateKeyset(path, clock.Now()); err != nil {
		t.Fatal(err)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	added := make([]string, 32)
	for i := range added {
		group.Go(func() {
			var err error
			added[i], err = credential.AddKey([]string{path, link}[i%2], clock.Now())
			if err != nil && fault.Of(err).Code != "keyset_busy" {
				t.Error(err)
			}
		})
	}
	group.Wait()
	last, err := credential.AddKey(path, clock.Now())
	if err != nil {
		t.Fatalf("after all of them: %v", err)
	}
	content := mustRead(t, path)
	for _, id := range append(added, last) {
		if !strings.Contains(content, id) { // "" was refused
			t.Errorf("%s was added and is lost", id)
		}
	}
}

func TestAKeysetFileHoldsSixtyFourKeys(t *testing.T) {
	t.Parallel()
	path, clock := filepath.Join(t.TempDir(), "keyset.json"), clocktest.New()
	if _, err := credential.CreateKeyset(path, clock.Now()); err != nil {
		t.Fatal(err)
	}
	for range 63 {
		if _, err := credential.AddKey(path, clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := credential.AddKey(path, clock.Now()); fault.Of(err).Code != "keyset_full" {
		t.Errorf("the 65th key: %v", err)
	}
}

// R-BRIDGE-5: a keyset that others can read protects nothing.
func TestAKeysetFileThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o600, 0o400, 0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666, 0o777} {
		path := filepath.Join(t.TempDir(), "keyset.json")
		if _, err := credential.CreateKeyset(path, clocktest.New().Now()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := credential.OpenKeyset(path)
		e := fault.Of(err)
		switch {
		case mode&0o077 == 0 && err != nil:
			t.Errorf("mode %04o: %v", mode, err)
		case mode&0o077 != 0 && (e.Kind != fault.Forbidden || e.Code != "keyset_mode" || !strings.Contains(e.Detail, "chmod 600 "+path) || !strings.Contains(e.Detail, fmt.Sprintf("%04o", mode))):
			t.Errorf("mode %04o: got %v, want keyset_mode", mode, err)
		}
		if mode&0o077 != 0 {
			if _, err := credential.AddKey(path, clocktest.New().Now()); fault.Of(err).Code != "keyset_mode" {
				t.Errorf("mode %04o: a key was added: %v", mode, err)
			}
		}
	}
	if os.Geteuid() == 0 { // only root can give a file away
		path := filepath.Join(t.TempDir(), "keyset.json")
		if _, err := credential.CreateKeyset(path, clocktest.New().Now()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := credential.OpenKeyset(path); fault.Of(err).Code != "keyset_mode" || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("another user's file: %v", err)
		}
	}
}

// R-BRIDGE-5
func TestAKeysetFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	entry := func(id, key string) string {
		return fmt.Sprintf(`{"id":%q,"key":%q,"created":"2026-11-30T12:00:00Z"}`, id, key)
	}
	file := func(primary string, entries ...string) string {
		return fmt.Sprintf(`{"primary":%q,"keys":[%s]}`, primary, strings.Join(entries, ","))
	}
	good := file("k2", entry("k1", key), entry("k2", key))
	many := make([]string, 65)
	for i := range many {
		many[i] = entry(fmt.Sprint("k", i), key)
	}
	for what, c := range map[string]struct {
		content string
		ok      bool
	}{
		"two keys":                       {good, true},
		"a line break behind":            {good + "\n", true},
		"nothing":                        {"", false},
		"not JSON":                       {"primary: k1", false},
		"more behind it":                 {good + "{}", false},
		"no keys":                        {file("k1"), false},
		"a primary that is not there":    {file("k3", entry("k1", key)), false},
		"no primary":                     {file("", entry("k1", key)), false},
		"two keys with one id":           {file("k1", entry("k1", key), entry("k1", key)), false},
		"an id that is empty":            {file("", entry("", key)), false},
		"an id with a line break":        {file("k\n", entry("k\n", key)), false},
		"a key of 31 bytes":              {file("k1", entry("k1", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 31))))), false},
		"a key of 33 bytes":              {file("k1", entry("k1", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 33))))), false},
		"a key that is not base64":       {file("k1", entry("k1", strings.Repeat("!", 44))), false},
		"a name that is not known":       {strings.Replace(good, `{"primary"`, `{"comment":"x","primary"`, 1), false},
		"a name twice":                   {strings.Replace(good, `{"primary"`, `{"primary":"k1","primary"`, 1), false},
		"a name in capitals":             {strings.Replace(good, `"primary"`, `"PRIMARY"`, 1), false},
		"more keys than can be":          {file("k1", many...), false},
		"more bytes than a keyset needs": {good + strings.Repeat(" ", 64<<10), false},
	} {
		path := filepath.Join(t.TempDir(), "keyset.json")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := credential.OpenKeyset(path)
		e := fault.Of(err)
		switch {
		case c.ok && err != nil:
			t.Errorf("%s: %v", what, err)
		case !c.ok && (e.Code != "keyset_file" || !strings.Contains(e.Detail, path)):
			t.Errorf("%s: got %v, want keyset_file", what, err)
		case !c.ok && strings.Contains(err.Error(), key[:8]):
			t.Errorf("%s: the error quotes a key", what)
		}
	}
	dir := t.TempDir()
	if _, err := credential.OpenKeyset(dir); fault.Of(err).Code != "keyset_file" {
		t.Errorf("a folder: %v", err)
	}
	if _, err := credential.OpenKeyset(filepath.Join(dir, "none")); fault.Of(err).Code != "keyset_missing" {
		t.Errorf("no file: %v", err)
	}
}
