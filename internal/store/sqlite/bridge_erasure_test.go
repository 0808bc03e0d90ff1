package sqlite

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mathrand "math/rand/v2"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/tenant"
)

// words are a canary that is text, of a length that varies.
func words() (canary, text string) {
	canary = rand.Text()
	return canary, canary + strings.Repeat(" "+canary[:3], mathrand.IntN(80))
}

// A reply is kept for repeats of its key, so one without is never written.
func TestAReplyThatNobodyCanAskForIsNotStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "interlock.db")
	s := open(t, Config{Path: path})
	for key, c := range map[string]struct {
		verdict string
		stored  bool
	}{"": {gateway.OK, false}, "failed": {"upstream_unavailable", false}, "done": {gateway.OK, true}} {
		reply := rand.Text()
		r := gateway.Record{ID: reply[:8], Tenant: tenant.Default, Key: key, OpenedAt: time.Now()}
		if _, err := s.OpenCall(t.Context(), r, catalog.Quota{Limit: 9, Window: catalog.Month}); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseCall(t.Context(), gateway.Closing{Tenant: r.Tenant, ID: r.ID, Verdict: c.verdict, Reply: []byte(`"` + reply + `"`)}); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(files(t, path), []byte(reply)); got != c.stored {
			t.Errorf("the reply of a call that ended %s with the key %q: stored %v", c.verdict, key, got)
		}
	}
}

// What was pruned lies between what is kept, so that pages are split and
// merged, and what moved between them must not leave copies behind.
func TestAForgottenInstructionReplyOrSecretIsInNeitherTheFileNorItsLog(t *testing.T) {
	t.Parallel()
	clock := newHand()
	path := filepath.Join(t.TempDir(), "interlock.db")
	s := open(t, Config{Path: path, Now: clock.now})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	canaries := map[string]bool{} // -> must be gone
	cutoff := clock.now()
	for i := range 500 {
		at, gone := cutoff, mathrand.IntN(4) > 0
		if gone {
			at = at.Add(-time.Hour)
		}
		instruction, text := words()
		must(s.RecordResolution(ctx, resolve.Record{ID: fmt.Sprint(i), Tenant: tenant.Default, At: at, Instruction: text}))
		reply, text := words()
		r := gateway.Record{ID: fmt.Sprint(i), Tenant: tenant.Default, Key: fmt.Sprint(i), OpenedAt: at}
		_, err := s.OpenCall(ctx, r, catalog.Quota{Limit: 1 << 20, Window: catalog.Month})
		must(err)
		must(s.CloseCall(ctx, gateway.Closing{Tenant: r.Tenant, ID: r.ID, Verdict: gateway.OK, Reply: []byte(`"` + text + `"`)}))
		canaries[instruction], canaries[reply] = gone, gone
	}
	replaced, deleted := rand.Text(), rand.Text()
	canaries[replaced], canaries[deleted] = true, true
	for i, secret := range []string{replaced, deleted} {
		must(s.PutCredential(ctx, credential.Sealed{Tenant: tenant.Default, App: "a", Revision: int64(i + 1), Ciphertext: []byte(secret)}, audit.Fact{}))
	}
	must(s.emptyLog(ctx))
	before := files(t, path)
	must(s.DeleteCredential(ctx, tenant.Default, "a", audit.Fact{}))
	for _, sweep := range []struct {
		name  string
		sweep func() (int, error)
	}{
		{"replies", func() (int, error) { return s.ForgetReplies(ctx, cutoff, 70) }},
		{"calls", func() (int, error) { return s.PruneCalls(ctx, cutoff, 70) }},
		{"resolutions", func() (int, error) { return s.PruneResolutions(ctx, cutoff, 70) }},
	} {
		for n := 70; n == 70; {
			var err error
			n, err = sweep.sweep()
			must(err)
		}
	}
	must(s.emptyLog(ctx))
	if gaps(files(t, path)) == 0 {
		t.Error("no page was merged, so this test proves less than it says")
	}
	must(s.Reclaim(ctx))
	after := files(t, path)
	found, left := 0, 0
	for c, gone := range canaries {
		if !bytes.Contains(before, []byte(c)) && c != replaced {
			t.Fatalf("a canary was not in the file to begin with")
		}
		switch there := bytes.Contains(after, []byte(c)); {
		case gone && there:
			found++
		case !gone && there:
			left++
		}
	}
	if found > 0 || left == 0 {
		t.Errorf("%d forgotten canaries are still in the file, %d others are", found, left)
	}
	if len(after) >= len(before) {
		t.Errorf("the files had %d bytes and have %d", len(before), len(after))
	}
}
