package site_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"testing"
	"time"

	"interlock/internal/bridge/site"
)

// unspent keeps no note of tokens, so that one token serves a whole benchmark.
type unspent struct{ site.Store }

func (unspent) SpendToken(context.Context, site.ID, string, time.Time) (bool, error) {
	return true, nil
}

// BenchmarkAuthenticate shows what a token costs besides the RSA verification
// that nothing can save: the strict reading, the read of the site's record,
// and, in the last, the note that it is spent, committed.
func BenchmarkAuthenticate(b *testing.B) {
	w := newWorld(b)
	perMinute, burst := site.MaxPerMinute, site.MaxBurst
	if _, err := w.Change(b.Context(), "default", operator, w.site.ID, site.Change{PerMinute: &perMinute, Burst: &burst}); err != nil {
		b.Fatal(err)
	}
	b.Run("RSA verification alone", func(b *testing.B) {
		sum := sha256.Sum256([]byte("x"))
		sig, err := rsa.SignPKCS1v15(nil, siteKey(), crypto.SHA256, sum[:])
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := rsa.VerifyPKCS1v15(&siteKey().PublicKey, crypto.SHA256, sum[:], sig); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("without the note", func(b *testing.B) {
		s, err := site.New(unspent{w.store}, site.Config{Audience: audience, Now: w.clock.Now})
		if err != nil {
			b.Fatal(err)
		}
		token := w.token(w.signer)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Authenticate(b.Context(), token); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("with the note, 64 callers", func(b *testing.B) {
		s, err := site.New(w.store, site.Config{Audience: audience, Now: w.clock.Now})
		if err != nil {
			b.Fatal(err)
		}
		tokens := make(chan string, b.N)
		for range b.N {
			tokens <- w.token(w.signer)
		}
		b.SetParallelism(32)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.Authenticate(b.Context(), <-tokens); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
