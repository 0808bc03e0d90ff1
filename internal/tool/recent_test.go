package tool

import (
	"crypto/sha256"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever texts strangers send, what is remembered is right and bounded.
func TestWhatIsRememberedIsBoundedAndRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRecent[string](100)
		for range rapid.IntRange(0, 60).Draw(t, "texts") {
			text := strings.Repeat(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "letter"), rapid.IntRange(0, 120).Draw(t, "length"))
			key := sha256.Sum256([]byte(text))
			if got, known := r.get(key); known && got != text {
				t.Fatalf("remembered %q for %q", got, text)
			}
			r.put(key, text, len(text))
			if _, known := r.get(key); known != (len(text) <= 100) {
				t.Fatalf("%d bytes just remembered: known %v", len(text), known)
			}
			bytes := 0
			for _, m := range r.made {
				bytes += len(m.value)
			}
			if bytes != r.bytes || bytes > 100 {
				t.Fatalf("holds %d bytes and counts %d", bytes, r.bytes)
			}
		}
	})
}
