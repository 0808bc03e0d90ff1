package sqlite

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// benchKey is a public key of the real size, with which nothing is verified.
func benchKey(t testing.TB) site.Key {
	t.Helper()
	n := make([]byte, 256)
	rand.Read(n)
	n[0], n[255] = n[0]|0x80, n[255]|1
	return site.Key{KID: "2026-12", Public: &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}, NotBefore: time.Now(), CreatedAt: time.Now()}
}

func benchCall(i int64) gateway.Record {
	return gateway.Record{ID: fmt.Sprintf("0195e0c2-7a1b-7c3d-9e00-%012d", i), Tenant: tenant.Default, Site: "site_0123456789abcdef", App: "abn_lookup",
		Operation: "lookup_v1", RequestID: "0195e0c2-7a1b-7c3d-9e00-000000000001", Key: fmt.Sprintf("0195e0c2-7a1b-4c3d-9e00-%012d", i),
		Arguments: []byte(`{"abn":"51824753556"}`), Revision: "sha256:0123456789abcdef", OpenedAt: time.Now()}
}

// benchReply is what a lookup answers.
const benchReply = `{"abn":"51824753556","status":"found","registered":true,"entity_name":"AUSTRALIAN TAXATION OFFICE","entity_type":"CGE","gst_from":"2000-07-01","state":"NSW","postcode":"2640","as_of":"2026-12-01"}`

// concurrently runs b.N operations from so many callers, each of which waits
// for its own.
func concurrently(b *testing.B, callers int, unit string, operation func(i int64) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := operation(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), unit)
}

// BenchmarkCall is durable calls of one tenant on one meter, opened and closed.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s := benchStore(b)
			q := catalog.Quota{Limit: 1 << 40, Window: catalog.Month}
			concurrently(b, callers, "calls/s", func(i int64) error {
				r := benchCall(i)
				if _, err := s.OpenCall(b.Context(), r, q); err != nil {
					return err
				}
				return s.CloseCall(b.Context(), gateway.Closing{Tenant: r.Tenant, ID: r.ID, Verdict: gateway.OK, Duration: time.Millisecond, Reply: []byte(benchReply)})
			})
		})
	}
}

// BenchmarkSpendToken is durable replay protection.
func BenchmarkSpendToken(b *testing.B) {
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s := benchStore(b)
			expires := time.Now().Add(5 * time.Minute)
			concurrently(b, callers, "tokens/s", func(i int64) error {
				fresh, err := s.SpendToken(b.Context(), "site_0123456789abcdef", fmt.Sprintf("%016x-%016x", i*0x9E3779B9, i), expires)
				if err == nil && !fresh {
					err = fmt.Errorf("token %d was not fresh", i)
				}
				return err
			})
		})
	}
}

// BenchmarkBridgeRead is the reads of one call of a site.
func BenchmarkBridgeRead(b *testing.B) {
	s := benchStore(b)
	f := audit.Fact{Action: "x", At: time.Now()}
	doc := policy.Document{Revision: "sha256:0123456789abcdef", MaxRisk: policy.Low, AllowedTools: []string{"abn_lookup__lookup_v1"}}
	for _, err := range []error{
		s.CreateTenant(b.Context(), catalog.Tenant{ID: "acme", Policy: doc}, catalog.Subscription{Plan: "p", StartsAt: time.Now()}, f),
		s.Enable(b.Context(), "acme", catalog.Enablement{App: "abn_lookup", Quota: catalog.Quota{Limit: 1000, Window: catalog.Day}}, f),
		s.Enable(b.Context(), "acme", catalog.Enablement{App: "other"}, f),
		s.CreateSite(b.Context(), site.Site{ID: "site_1", Tenant: "acme", Keys: []site.Key{benchKey(b)}}, f),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range int64(1000) {
		if _, err := s.OpenCall(b.Context(), benchCall(i), catalog.Quota{Limit: 1 << 40, Window: catalog.Month}); err != nil {
			b.Fatal(err)
		}
	}
	known := benchCall(500)
	for name, read := range map[string]func() error{
		"standing": func() error { _, err := s.TenantStanding(b.Context(), "acme"); return err },
		"site":     func() error { _, err := s.Site(b.Context(), "site_1"); return err },
		"keyed":    func() error { _, _, err := s.Keyed(b.Context(), known.Tenant, known.Site, known.Key); return err },
		"no key":   func() error { _, _, err := s.Keyed(b.Context(), known.Tenant, known.Site, "new"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
