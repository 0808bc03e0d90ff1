package audit_test

import (
	"slices"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/tenant"
)

func chain(n int) []audit.Entry {
	var out []audit.Entry
	var seq int64
	var prev [32]byte
	for i := range n {
		e := audit.Seal(seq, prev, audit.Fact{Tenant: tenant.Default, At: time.Unix(int64(i), 1500), Actor: "token:a", Action: "task.cancel", Subject: "t", Detail: map[string]string{"why": "x", "n": "y"}})
		out, seq, prev = append(out, e), e.Seq, e.Hash
	}
	return out
}

// R-GOV-0
func TestVerifyFindsEveryKindOfTampering(t *testing.T) {
	good := chain(5)
	if err := audit.Verify(0, [32]byte{}, good); err != nil {
		t.Fatal(err)
	}
	if err := audit.Verify(good[1].Seq, good[1].Hash, good[2:]); err != nil {
		t.Fatal("a chain must verify from its middle:", err)
	}
	for name, tamper := range map[string]func([]audit.Entry) []audit.Entry{
		"removed":        func(c []audit.Entry) []audit.Entry { return slices.Delete(c, 2, 3) },
		"swapped":        func(c []audit.Entry) []audit.Entry { c[1], c[2] = c[2], c[1]; return c },
		"actor edited":   func(c []audit.Entry) []audit.Entry { c[2].Fact.Actor = "token:b"; return c },
		"time edited":    func(c []audit.Entry) []audit.Entry { c[2].Fact.At = c[2].Fact.At.Add(time.Hour); return c },
		"detail edited":  func(c []audit.Entry) []audit.Entry { c[2].Fact.Detail = map[string]string{"why": "z"}; return c },
		"first replaced": func(c []audit.Entry) []audit.Entry { c[0] = audit.Seal(0, [32]byte{1}, c[0].Fact); return c },
		"boundary moved": func(c []audit.Entry) []audit.Entry {
			c[2].Fact.Action, c[2].Fact.Subject = "task.cancelt", ""
			return c
		},
	} {
		if err := audit.Verify(0, [32]byte{}, tamper(chain(5))); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
