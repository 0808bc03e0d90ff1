package sqlite

import (
	"path/filepath"
	"testing"

	"interlock/internal/audit"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// damage changes rows behind the store's back.
func damage(t *testing.T, s *Store, statement string) {
	t.Helper()
	err := s.write(t.Context(), bulk, func(tx *tx) error {
		_, err := tx.exec(statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A panic in the writer would end the server, and again at every repeat.
func TestAShortStoredHashIsAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	t.Run("of a submission's key", func(t *testing.T) {
		t.Parallel()
		s := open(t, Config{Path: filepath.Join(t.TempDir(), "interlock.db")})
		submit := func() error {
			_, _, err := s.Submit(t.Context(), task.Task{ID: "t", Tenant: tenant.Default, Spec: task.Spec{Goal: "g"}}, "key", [32]byte{}, audit.Fact{})
			return err
		}
		if err := submit(); err != nil {
			t.Fatal(err)
		}
		damage(t, s, `UPDATE task_key SET body = x'00'`)
		if err := submit(); err == nil {
			t.Error("a repeat was answered out of a damaged row")
		}
	})
	t.Run("of a decision's key", func(t *testing.T) {
		t.Parallel()
		s := open(t, Config{Path: filepath.Join(t.TempDir(), "interlock.db")})
		k := heldTask(t, s, "t")
		record(t, s, k, "key", "system", "a prompt of a task")
		damage(t, s, `UPDATE decision SET body_hash = x'00'`)
		r := crashRow(k, "key")
		if _, err := s.Record(t.Context(), r, usage.Entry{Tenant: k.Tenant, Task: string(k.ID), At: r.At}); err == nil {
			t.Error("a repeat was recorded over a damaged row")
		}
		fence := task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: k.Attempt}
		if at, err := s.Standing(t.Context(), fence, "key", r.BodyHash); err == nil {
			t.Errorf("a repeat was answered out of a damaged row: %+v", at)
		}
	})
}
