package abnindex

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/fault"
	"interlock/internal/store"
	"interlock/internal/store/abnindex/abnextract"
)

// write makes a file with the content.
func write(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipOf is a zip of files by name.
func zipOf(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// abr is a record of the number; more stands inside it.
func abr(number, more string) string {
	return `<ABR replaced="N"><ABN status="ACT" ABNStatusFromDate="20200102">` + number + `</ABN>` + more + `</ABR>`
}

// R-BRIDGE-8
func TestAnUnsoundExtractIsRefusedAndHarmsNothing(t *testing.T) {
	t.Parallel()
	good := transfer(abr("51824753556", ""), abr("53004085616", ""))
	for _, c := range []struct {
		name  string
		files map[string]string
		parts int // 1 if not given
		want  string
	}{
		{"nothing in it", map[string]string{"a.xml": ""}, 0, "a.xml: there is no XML"},
		{"a page instead of a download", map[string]string{"a.zip": "<html>try again later</html>"}, 0, "no extract of the register"},
		{"a zip that is cut short", map[string]string{"a.zip": zipOf(t, map[string]string{"a.xml": good})[:200]}, 0, "the zip a.zip is damaged or cut short"},
		{"a zip with a byte changed", map[string]string{"a.zip": changed(zipStored(t, good))}, 0, "download it again"},
		{"a zip without XML", map[string]string{"a.zip": zipOf(t, map[string]string{"readme.txt": "hi"})}, 0, "holds no XML file"},
		{"a zip of many files", map[string]string{"a.zip": zipOf(t, many(maxEntries+1))}, 0, "more than 1000 files"},
		{"a zip that unpacks to a thousand times its size", map[string]string{"a.zip": zipOf(t, map[string]string{"a.xml": good + strings.Repeat(" ", 4<<20)})}, 0, "too large when it is unpacked"},
		{"half of an extract", map[string]string{"a.xml": good}, 2, "the extract has 2 XML files and these hold 1"},
		{"fewer records than it says", map[string]string{"a.xml": strings.Replace(good, "Count>2<", "Count>3<", 1)}, 0, "a.xml holds 2 records and says that it has 3"},
		{"more records than it says", map[string]string{"a.xml": strings.Replace(good, "Count>2<", "Count>1<", 1)}, 0, "more records than the 1"},
		{"a malformed record", map[string]string{"a.zip": zipOf(t, map[string]string{"p.xml": transfer(abr("51824753556", ""), abr("x", ""))})}, 0, "a.zip: p.xml, record 2: its ABN has not eleven digits"},
		{"one number twice", map[string]string{"a.xml": transfer(abr("51824753556", ""), abr("51824753556", ""))}, 0, "ABN 51824753556 stands in the extract twice"},
		{"one file twice", map[string]string{"a.xml": good, "b.xml": good}, 2, "stands in the extract twice"},
		{"files of different weeks", map[string]string{"a.xml": transfer(abr("51824753556", "")),
			"b.xml": strings.Replace(transfer(abr("53004085616", "")), "2026-11-25", "2026-11-18", 1)}, 2, "a.xml was extracted on 2026-11-25 and b.xml on 2026-11-18"},
		{"a name in a zip that would steer a terminal", map[string]string{"a.zip": zipOf(t, map[string]string{"\x1b[2J.xml": ""})}, 0, "a.zip: ?[2J.xml: there is no XML"},
		{"numbers that are none, again and again", map[string]string{"a.xml": transfer(repeated(abr("51824753557", ""), maxUnaskable+1)...)}, 0, "record 1001: too many numbers fail the checksum"},
		{"types of entities without end", map[string]string{"a.xml": transfer(manyTypes(t, maxTypes+1)...)}, 0, "types of entities"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "abn.db")
			cfg := ImportConfig{Path: path, Files: []string{write(t, filepath.Join(dir, "before.xml"), transfer(abr("88000014675", "")))}, Parts: 1}
			if _, err := Import(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			cfg.Parts, cfg.Files = max(1, c.parts), nil
			for _, name := range []string{"a.xml", "a.zip", "b.xml"} {
				if content, ok := c.files[name]; ok {
					cfg.Files = append(cfg.Files, write(t, filepath.Join(dir, name), content))
				}
			}
			_, err := Import(t.Context(), cfg)
			if f := fault.Of(err); f.Code != "abn_extract" || f.Kind != fault.Invalid || !strings.Contains(f.Detail, c.want) {
				t.Errorf("got %v, want a refusal with %q", err, c.want)
			}
			wantKnown(t, path, "88000014675", true)
			if left, _ := filepath.Glob(path + ".next*"); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}

// zipStored is a zip that holds the content as it is.
func zipStored(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "a.xml", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// changed is a record that says something else than its zip was made of.
func changed(zipped string) string { return strings.Replace(zipped, "20200102", "20200103", 1) }

func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprint(i, ".xml")] = ""
	}
	return files
}

func repeated(s string, n int) []string {
	var all []string
	for range n {
		all = append(all, s)
	}
	return all
}

// manyTypes are records of so many types.
func manyTypes(t testing.TB, n int) []string {
	t.Helper()
	var all []string
	for i, number := range (abnextract.Extract{Seed: 2, Records: n}).Numbers() {
		all = append(all, abr(number.String(), fmt.Sprintf("<EntityType><EntityTypeInd>%d</EntityTypeInd></EntityType>", i)))
	}
	return all
}

// wantKnown asks an index whether it has a number.
func wantKnown(t testing.TB, path, number string, want bool) {
	t.Helper()
	n, err := abn.Parse(number)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, found, err := opened(t, path).Lookup(context.Background(), n, noSecret); err != nil || found != want {
		t.Errorf("%s: found %v, %v; want %v", number, found, err, want)
	}
}

// R-BRIDGE-8: nobody can ask for a number that fails the checksum, so its
// record is left out and counted.
func TestNumbersThatNobodyCanAskForAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	made, err := Import(t.Context(), ImportConfig{Path: path, Parts: 1,
		Files: []string{write(t, path+".xml", transfer(abr("51824753556", ""), abr("51824753557", ""), abr("53004085616", "")))}})
	if err != nil || made.Records != 2 || made.Unaskable != 1 {
		t.Errorf("made %+v, %v; want 2 records and 1 left out", made, err)
	}
}

// R-BRIDGE-8: of two records of one number the one that was not replaced
// stays, whichever comes first.
func TestAReplacedRecordGivesWayToTheOther(t *testing.T) {
	t.Parallel()
	name := func(s string) string {
		return "<MainEntity><NonIndividualName><NonIndividualNameText>" + s + "</NonIndividualNameText></NonIndividualName></MainEntity>"
	}
	old := strings.Replace(abr("51824753556", name("OLD")), `replaced="N"`, `replaced="Y"`, 1)
	now := abr("51824753556", name("NOW"))
	for _, records := range [][]string{{old, now}, {now, old}} {
		path := filepath.Join(t.TempDir(), "abn.db")
		made, err := Import(t.Context(), ImportConfig{Path: path, Parts: 1, Files: []string{write(t, path+".xml", transfer(records...))}})
		if err != nil || made.Records != 1 || made.Superseded != 1 {
			t.Errorf("made %+v, %v; want 1 record and 1 superseded", made, err)
		}
		n, _ := abn.Parse("51824753556")
		if r, _, _, err := opened(t, path).Lookup(t.Context(), n, noSecret); err != nil || r.Name != "NOW" {
			t.Errorf("%+v, %v; want the record that was not replaced", r, err)
		}
	}
}

// R-BRIDGE-8: an entity that has another number now must not read as
// registered under the old one, and the extract does not say the new one.
func TestAReplacedNumberThatIsStillActiveHasNoAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	old := strings.Replace(abr("51824753556", ""), `replaced="N"`, `replaced="Y"`, 1)
	if _, err := Import(t.Context(), ImportConfig{Path: path, Parts: 1, Files: []string{write(t, path+".xml", transfer(old))}}); err != nil {
		t.Fatal(err)
	}
	n, _ := abn.Parse("51824753556")
	if r, _, found, err := opened(t, path).Lookup(t.Context(), n, noSecret); found || !errors.Is(err, errReplaced) || fault.Of(err).Code != "upstream_unavailable" {
		t.Errorf("%+v, %v, %v; want upstream_unavailable", r, found, err)
	}
}

// R-BRIDGE-8
func TestAnImportReplacesNothingButAnIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{write(t, filepath.Join(dir, "a.xml"), transfer(abr("51824753556", "")))}
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"a file of something else", write(t, filepath.Join(dir, "notes.txt"), "my notes, which are long enough to be no empty database"), ErrNotIndex},
		{"an empty file", write(t, filepath.Join(dir, "empty"), ""), ErrNotIndex},
		{"a folder", dir, ErrNotIndex},
		{"a folder that does not exist", filepath.Join(dir, "missing", "abn.db"), ErrPlace},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before, _ := os.ReadFile(c.path)
			if _, err := Import(t.Context(), ImportConfig{Path: c.path, Files: files, Parts: 1}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// R-BRIDGE-8
func TestTwoImportsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	files := []string{write(t, path+".xml", transfer(abr("51824753556", "")))}
	cfg := ImportConfig{Path: path, Files: files, Parts: 1}
	second := cfg
	cfg.Progress = func(Progress) {
		if _, err := Import(t.Context(), second); !errors.Is(err, ErrBusy) || !errors.Is(err, store.ErrInUse) {
			t.Errorf("a second import: %v, want %v", err, ErrBusy)
		}
	}
	if _, err := Import(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// R-BRIDGE-8: what was begun with other files is dropped.
func TestAnImportOfOtherFilesBeginsAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	stopped := abnextract.Extract{Seed: 4, Records: 2000, Parts: 4, At: written}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Import(ctx, ImportConfig{Path: path, Files: zips(t, stopped), Parts: 4, Progress: func(Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled import ends with %v", err)
	}
	if _, err := os.Stat(path + ".next"); err != nil {
		t.Fatalf("what a cancelled import had read is not kept: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a cancelled import made an index")
	}
	made, err := Import(t.Context(), ImportConfig{Path: path, Files: []string{write(t, path+".xml", transfer(abr("51824753556", "")))}, Parts: 1})
	if err != nil || made.Records != 1 || made.Resumed != 0 {
		t.Errorf("made %+v, %v; want 1 record and none from before", made, err)
	}
}

// R-BRIDGE-8: a beginning that can't be gone on with is dropped too.
func TestADamagedBeginningIsMadeAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	write(t, path+".next", strings.Repeat("no database ", 1000))
	made, err := Import(t.Context(), ImportConfig{Path: path, Files: []string{write(t, path+".xml", transfer(abr("51824753556", "")))}, Parts: 1})
	if err != nil || made.Records != 1 {
		t.Errorf("made %+v, %v", made, err)
	}
}

// R-BRIDGE-8
func TestProgressIsToldAndEndsWithAll(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	e := abnextract.Extract{Seed: 5, Records: 3000, Parts: 4, At: written}
	var all []Progress
	cfg := ImportConfig{Path: filepath.Join(t.TempDir(), "abn.db"), Files: zips(t, e), Parts: 4,
		Now:      func() time.Time { return now },
		Progress: func(p Progress) { all, now = append(all, p), now.Add(time.Second) }}
	made, err := Import(t.Context(), cfg)
	if err != nil || made.Elapsed != time.Duration(len(all))*time.Second {
		t.Fatalf("made %+v, %v after %d reports", made, err, len(all))
	}
	last := Progress{}
	for _, p := range all {
		if p.Records < last.Records || p.Bytes < last.Bytes || p.TotalBytes == 0 || p.Bytes > p.TotalBytes || !strings.Contains(p.File, ".zip: 20261125_Public0") {
			t.Errorf("%+v comes after %+v", p, last)
		}
		last = p
	}
	if last.Records != 3000 || last.Remaining() != time.Duration(float64(last.Elapsed)*float64(last.TotalBytes-last.Bytes)/float64(last.Bytes)) {
		t.Errorf("the last report is %+v, %v remaining", last, last.Remaining())
	}
	if want := float64(last.Records) / last.Elapsed.Seconds(); last.PerSecond() != want {
		t.Errorf("%v records a second, want %v", last.PerSecond(), want)
	}
}
