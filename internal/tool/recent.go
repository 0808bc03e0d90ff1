package tool

import "sync"

// recent remembers what was made of the texts seen lately, by their SHA-256,
// up to a bound in bytes of text. Strangers send those texts: where there is no
// room, arbitrary others are forgotten, so that whoever sends many different
// ones costs the others some work now and then, and never the answer.
type recent[V any] struct {
	limit int // bytes of text

	mu    sync.Mutex
	made  map[[32]byte]remembered[V] // guarded by mu
	bytes int                        // of all texts; guarded by mu
}

type remembered[V any] struct {
	value V
	size  int // bytes of its text
}

func newRecent[V any](limit int) *recent[V] {
	return &recent[V]{limit: limit, made: map[[32]byte]remembered[V]{}}
}

func (r *recent[V]) get(text [32]byte) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.made[text]
	return m.value, known
}

// put remembers v, made of a text of so many bytes, unless that alone is
// beyond the bound.
func (r *recent[V]) put(text [32]byte, v V, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.made[text]; known || size > r.limit {
		return
	}
	for other, m := range r.made {
		if r.bytes+size <= r.limit {
			break
		}
		delete(r.made, other)
		r.bytes -= m.size
	}
	r.made[text] = remembered[V]{v, size}
	r.bytes += size
}
