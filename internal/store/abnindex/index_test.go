package abnindex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/store/abnindex/abnextract"
)

var noSecret secret.String

var _ abn.Source = (*Index)(nil)

// one imports an index of one record.
func one(t testing.TB, path, number string) {
	t.Helper()
	if _, err := Import(context.Background(), ImportConfig{Path: path, Parts: 1, Files: []string{write(t, path+number+".xml", transfer(abr(number, "")))}}); err != nil {
		t.Fatal(err)
	}
}

// known asks an open index.
func known(t testing.TB, x *Index, number string) (bool, error) {
	t.Helper()
	n, err := abn.Parse(number)
	if err != nil {
		t.Fatal(err)
	}
	_, _, found, err := x.Lookup(context.Background(), n, noSecret)
	return found, err
}

// R-BRIDGE-8: that there is no record is an answer, with the extract's date.
func TestNoRecordIsAnAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	one(t, path, "51824753556")
	x := opened(t, path)
	n, _ := abn.Parse("53004085616")
	r, p, found, err := x.Lookup(t.Context(), n, noSecret)
	if found || err != nil || r.ABN != (abn.Number{}) || p.Source != "index" || !p.AsOf.Equal(written) {
		t.Errorf("%+v, %+v, %v, %v", r, p, found, err)
	}
	if x.NeedsCredential() {
		t.Error("the public extract asks for a credential")
	}
}

// R-BRIDGE-8: a failure is never "no record".
func TestAnIndexThatIsNotThereYetRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	x := opened(t, path)
	now := time.Now()
	x.now = func() time.Time { return now }
	if found, err := known(t, x, "51824753556"); found || fault.Of(err).Code != "upstream_unavailable" || !errors.Is(err, ErrMissing) || strings.Contains(fault.Of(err).Detail, path) {
		t.Errorf("found %v, %v; want upstream_unavailable because of %v", found, err, ErrMissing)
	}
	if _, err := x.Info(t.Context()); fault.Of(err).Code != "abn_index_missing" {
		t.Errorf("Info: %v, want %v", err, ErrMissing)
	}
	one(t, path, "51824753556")
	now = now.Add(lookEvery)
	if found, err := known(t, x, "51824753556"); !found || err != nil {
		t.Errorf("after the import: found %v, %v", found, err)
	}
}

// R-BRIDGE-8
func TestAnIndexThatWasReplacedIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	one(t, path, "51824753556")
	x := opened(t, path)
	now := time.Now()
	x.now = func() time.Time { return now }
	one(t, path, "53004085616")
	if found, err := known(t, x, "51824753556"); !found || err != nil {
		t.Errorf("within a second: found %v, %v; want the old index", found, err)
	}
	now = now.Add(lookEvery)
	if found, err := known(t, x, "51824753556"); found || err != nil {
		t.Errorf("a second later: found %v, %v; want the new index", found, err)
	}
	if found, err := known(t, x, "53004085616"); !found || err != nil {
		t.Errorf("a second later: found %v, %v; want the new index", found, err)
	}

	write(t, path+".broken", "this is no index, whoever put it there")
	if err := os.Rename(path+".broken", path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(lookEvery)
	if found, err := known(t, x, "53004085616"); !found || err != nil {
		t.Errorf("with something else in its place: found %v, %v; want what was there", found, err)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Hour) // a clock that is set back does not put it off
	if found, err := known(t, x, "53004085616"); found || !errors.Is(err, ErrMissing) {
		t.Errorf("removed: found %v, %v; want %v", found, err, ErrMissing)
	}
}

// R-BRIDGE-8: look-ups go on while an import runs and takes its place.
func TestLookupsGoOnDuringAnImport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	e := abnextract.Extract{Seed: 6, Records: 2000, Parts: 2, At: written}
	cfg := ImportConfig{Path: path, Files: zips(t, e), Parts: 2}
	if _, err := Import(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	x := opened(t, path)
	var ticks sync.Mutex
	now := time.Now()
	x.now = func() time.Time { // each look-up looks at the path
		ticks.Lock()
		defer ticks.Unlock()
		now = now.Add(lookEvery)
		return now
	}
	stop := make(chan struct{})
	var askers sync.WaitGroup
	numbers := e.Numbers()
	for range 4 {
		askers.Go(func() {
			for i := 0; ; i++ {
				n := numbers[i%len(numbers)]
				if _, _, found, err := x.Lookup(context.Background(), n, noSecret); !found || err != nil {
					t.Errorf("%s: found %v, %v", n, found, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 5 {
		if _, err := Import(t.Context(), cfg); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	askers.Wait()
}

// R-BRIDGE-8
func TestAFileThatIsNoIndexIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "abn.db")
	one(t, path, "51824753556")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte(nil), whole...)
	newer[63]++ // user_version
	for name, c := range map[string]struct {
		content string
		want    error
	}{
		"something else":           {strings.Repeat("no database ", 1000), ErrNotIndex},
		"an empty file":            {"", ErrNotIndex},
		"a page of it":             {string(whole[:4096]), ErrNotIndex},
		"an index of another form": {string(newer), ErrForm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Open(write(t, filepath.Join(t.TempDir(), "abn.db"), c.content)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// R-BRIDGE-8
func TestAClosedIndexRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	one(t, path, "51824753556")
	x := opened(t, path)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := known(t, x, "51824753556"); found || fault.Of(err).Code != "upstream_unavailable" {
		t.Errorf("found %v, %v; want upstream_unavailable", found, err)
	}
}

// R-BRIDGE-8
func TestALookupEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "abn.db")
	one(t, path, "51824753556")
	x := opened(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n, _ := abn.Parse("51824753556")
	if _, _, found, err := x.Lookup(ctx, n, noSecret); found || !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, %v; want %v", found, err, context.Canceled)
	}
}

// R-BRIDGE-8
func TestInfoSaysWhatTheIndexWasMadeOf(t *testing.T) {
	t.Parallel()
	e := abnextract.Extract{Seed: 8, Records: 1000, Parts: 4, At: written}
	info, err := imported(t, e).Info(t.Context())
	if err != nil || info.Records != 1000 || !info.Extracted.Equal(written) || info.Bytes == 0 || info.Imported.IsZero() || len(info.Parts) != 4 {
		t.Fatalf("%+v, %v", info, err)
	}
	want := Part{Source: "public_split_2_of_2.zip", File: "20261125_Public04.xml", Sequence: 4, Records: 250}
	if info.Parts[3] != want {
		t.Errorf("got %+v, want %+v", info.Parts[3], want)
	}
}
