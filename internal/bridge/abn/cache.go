package abn

import (
	"container/list"
	"time"
)

// cache keeps the answers that were last asked for, as long as they may be
// kept. It is not safe for concurrent use.
type cache struct {
	foundFor, missingFor time.Duration
	size                 int
	now                  func() time.Time
	byKey                map[flightKey]*list.Element
	byUse                *list.List // of entries, the last used first
}

type entry struct {
	key     flightKey
	verdict verdict
}

func newCache(c WebConfig) *cache {
	return &cache{foundFor: c.CacheFor, missingFor: min(c.CacheFor, maxMissingFor), size: c.CacheSize, now: c.Now,
		byKey: map[flightKey]*list.Element{}, byUse: list.New()}
}

// get returns a kept answer that is not too old. One from the future is none:
// the clock was set back, so its age is not known.
func (c *cache) get(key flightKey) (verdict, bool) {
	e, ok := c.byKey[key]
	if !ok {
		return verdict{}, false
	}
	v := e.Value.(entry).verdict
	lifetime := c.missingFor
	if v.found {
		lifetime = c.foundFor
	}
	if age := c.now().Sub(v.at); age < 0 || age >= lifetime {
		c.remove(e)
		return verdict{}, false
	}
	c.byUse.MoveToFront(e)
	return v, true
}

// maxKept is how large a record may be to be kept, in bytes: one with the 300
// business names that some entities have is smaller.
const maxKept = 32 << 10

// put keeps v, in place of the one that was not used for longest if there is no
// room.
func (c *cache) put(key flightKey, v verdict) {
	if v.record.size() > maxKept {
		return
	}
	if e, ok := c.byKey[key]; ok {
		c.remove(e)
	}
	if c.byUse.Len() >= c.size {
		c.remove(c.byUse.Back())
	}
	c.byKey[key] = c.byUse.PushFront(entry{key, v})
}

// drop removes the answers that match, and returns how many.
func (c *cache) drop(match func(verdict) bool) int {
	dropped := 0
	for _, e := range c.byKey {
		if match(e.Value.(entry).verdict) {
			c.remove(e)
			dropped++
		}
	}
	return dropped
}

func (c *cache) remove(e *list.Element) {
	c.byUse.Remove(e)
	delete(c.byKey, e.Value.(entry).key)
}
