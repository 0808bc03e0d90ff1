package abnindex

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/bridge/abn"
	"interlock/internal/secret"
	"interlock/internal/store/abnindex/abnextract"
)

var written = time.Date(2026, 11, 25, 2, 23, 33, 0, time.UTC)

// zips writes an extract into two zips.
func zips(t testing.TB, e abnextract.Extract) []string {
	t.Helper()
	files, err := e.WriteZips(t.TempDir(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// imported makes an index of an extract and opens it.
func imported(t testing.TB, e abnextract.Extract) *Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "abn.db")
	if _, err := Import(t.Context(), ImportConfig{Path: path, Files: zips(t, e), Parts: e.Parts}); err != nil {
		t.Fatal(err)
	}
	return opened(t, path)
}

func opened(t testing.TB, path string) *Index {
	t.Helper()
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// wantRecord asks for one number.
func wantRecord(t testing.TB, x *Index, n abn.Number, want abn.Record) {
	t.Helper()
	got, p, found, err := x.Lookup(context.Background(), n, secret.String{})
	if err != nil || !found || p.Source != "index" || !p.AsOf.Equal(written) {
		t.Fatalf("%s: found %v, %+v, %v", n, found, p, err)
	}
	if !reflect.DeepEqual(want, got) { // many times as fast as what shows the difference
		t.Fatalf("%s: want (-) and got (+)\n%s", n, cmp.Diff(want, got, cmp.AllowUnexported(abn.Number{})))
	}
}

// R-BRIDGE-8
func TestEveryRecordOfAnExtractIsAnswered(t *testing.T) {
	t.Parallel()
	for _, shuffled := range []bool{false, true} {
		e := abnextract.Extract{Seed: 1, Records: 3000, Parts: 4, At: written, Shuffled: shuffled}
		x := imported(t, e)
		for _, n := range e.Numbers() {
			wantRecord(t, x, n, e.Record(n))
		}
	}
}
