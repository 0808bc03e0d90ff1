package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/tenant"
)

// released are the steps that databases of released versions were made by.
var released = map[string]string{
	"migrations/00001_control_plane.sql": "45db7f2de5c2ec526d7d7653e85e242a1ea1f4fe6f4ead793ea835a09719c26a",
}

func TestAReleasedStepNeverChanges(t *testing.T) {
	t.Parallel()
	for name, want := range released {
		b, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s was changed: write a new step instead (its SHA-256 was %s and is %s)", name, want, got)
		}
	}
}

// atStep makes a database as the version that knew so many steps left it.
func atStep(t *testing.T, path string, step int64, content string) {
	t.Helper()
	db, err := sql.Open("sqlite", source(path, "auto_vacuum(2)", "journal_mode(WAL)"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := steps(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), content); err != nil {
		t.Fatal(err)
	}
}

// schema is every table and index, as they were declared.
func schema(t *testing.T, s *Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := s.read(t.Context(), func(v view) error {
		return v.each(`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL`, nil, func(scan scan) error {
			var name, declared string
			err := scan(&name, &declared)
			out[name] = declared
			return err
		})
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestADatabaseOfTheFirstVersionIsBroughtForward(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "old")
	atStep(t, path, 1, `INSERT INTO stop_switch (tenant, stopped, reason, who, at) VALUES ('default', 1, 'kept', 'token:a', 1)`)
	s := open(t, Config{Path: path})
	if d := cmp.Diff(schema(t, open(t, Config{Path: filepath.Join(folder, "new")})), schema(t, s)); d != "" {
		t.Errorf("the schema is not that of a new database: -new +old\n%s", d)
	}
	if st, err := s.Stopped(t.Context(), tenant.Default); err != nil || st.Reason != "kept" {
		t.Errorf("what was stored: %+v, %v", st, err)
	}
	if st, err := s.TenantStanding(t.Context(), tenant.Default); err != nil || st.Tenant.ID != tenant.Default {
		t.Errorf("the default tenant: %+v, %v", st, err)
	}
}
