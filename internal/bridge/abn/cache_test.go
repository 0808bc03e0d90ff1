package abn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/clocktest"
)

// naiveCache is a list, the last used last.
type naiveCache []entry

func (n *naiveCache) take(key flightKey) (entry, bool) {
	i := slices.IndexFunc(*n, func(e entry) bool { return e.key == key })
	if i < 0 {
		return entry{}, false
	}
	e := (*n)[i]
	*n = slices.Delete(*n, i, i+1)
	return e, true
}

// R-BRIDGE-8
func TestTheCacheKeepsWhatWasLastUsedForItsTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const size = 3
		clock := clocktest.New()
		c := newCache(WebConfig{CacheSize: size, CacheFor: time.Hour, Now: clock.Now})
		var naive naiveCache
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				key := someKey(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key")))
				v := verdict{record: Record{ABN: key.number}, found: rapid.Bool().Draw(t, "found"), at: clock.Now()}
				c.put(key, v)
				naive.take(key)
				if naive = append(naive, entry{key, v}); len(naive) > size {
					naive = naive[1:]
				}
			},
			"get": func(t *rapid.T) {
				key := someKey(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key")))
				got, ok := c.get(key)
				want, kept := naive.take(key)
				age, lifetime := clock.Now().Sub(want.verdict.at), time.Hour
				if !want.verdict.found {
					lifetime = 5 * time.Minute
				}
				if kept = kept && age >= 0 && age < lifetime; kept {
					naive = append(naive, want)
				}
				if ok != kept || ok && (got.found != want.verdict.found || got.record.ABN != key.number || !got.at.Equal(want.verdict.at)) {
					t.Fatalf("got %+v, %t; want %+v, %t", got, ok, want.verdict, kept)
				}
			},
			"time passes": func(t *rapid.T) {
				clock.Advance(time.Duration(rapid.IntRange(-10, 40).Draw(t, "minutes")) * time.Minute)
			},
			"drop": func(t *rapid.T) {
				key := someKey(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key")))
				_, kept := naive.take(key)
				if got := c.drop(func(v verdict) bool { return v.about(key.number) }); (got == 1) != kept || got > 1 {
					t.Fatalf("dropped %d, want %t", got, kept)
				}
			},
			"": func(t *rapid.T) {
				if len(c.byKey) != c.byUse.Len() || c.byUse.Len() != len(naive) {
					t.Fatalf("%d keys, %d entries, want %d", len(c.byKey), c.byUse.Len(), len(naive))
				}
			},
		})
	})
}

// R-BRIDGE-8
func TestARecordThatIsVeryLargeIsNotKept(t *testing.T) {
	t.Parallel()
	c := newCache(WebConfig{}.withDefaults())
	key := someKey("51824753556")
	c.put(key, verdict{record: Record{Names: slices.Repeat([]string{strings.Repeat("x", 40)}, 300)}, found: true, at: c.now()})
	if _, ok := c.get(key); !ok {
		t.Error("three hundred business names are not kept")
	}
	c.put(key, verdict{record: Record{Name: strings.Repeat("x", maxKept)}, found: true, at: c.now()})
	if v, ok := c.get(key); ok && v.record.Name != "" {
		t.Error("a name of the size of a book is kept")
	}
}
