package sqlite

import (
	"sync"

	"interlock/internal/cloud/task"
	"interlock/internal/store"
)

// alone is the base of a prompt that was packed without another.
const alone = -1

// packedPrompt is a user prompt as its row holds it.
type packedPrompt struct {
	base int // step of the same attempt, or alone
	body []byte
}

// promptCache holds, for the attempts that decide now, the prompt that the
// next one is packed against: the latest of the attempt that stands alone.
// What it has forgotten costs space, never data: the next prompt then stands
// alone. Every base is a row of the same attempt, so pruning a task removes
// both.
type promptCache struct {
	mu    sync.Mutex
	bases map[attemptKey]promptBase // guarded by mu
	bytes int                       // guarded by mu: of all bases
}

// maxCachedPrompts bounds the cache in bytes.
const maxCachedPrompts = 32 << 20

type attemptKey struct {
	task    task.ID
	attempt int
}

type promptBase struct {
	step   int
	text   []byte
	packed int // bytes that it takes
}

func newPromptCache() *promptCache { return &promptCache{bases: map[attemptKey]promptBase{}} }

func (c *promptCache) get(k attemptKey) (promptBase, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.bases[k]
	return b, ok
}

// put remembers b, which must be committed. A full cache starts over.
func (c *promptCache) put(k attemptKey, b promptBase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += len(b.text) - len(c.bases[k].text)
	if c.bytes > maxCachedPrompts {
		clear(c.bases)
		c.bytes = len(b.text)
	}
	c.bases[k] = b
}

// pack packs a prompt of the attempt. Once a prompt shares too little with the
// base it stands alone, and the next ones are packed against it.
func (c *promptCache) pack(k attemptKey, prompt []byte) packedPrompt {
	b, ok := c.get(k)
	if !ok {
		return packedPrompt{alone, store.Pack(prompt)}
	}
	against := packedPrompt{b.step, store.PackAgainst(b.text, prompt)}
	if 2*len(against.body) <= b.packed {
		return against
	}
	if whole := store.Pack(prompt); 4*len(against.body) > 3*len(whole) {
		return packedPrompt{alone, whole}
	}
	return against
}
