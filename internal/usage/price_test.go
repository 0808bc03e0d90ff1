package usage_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"interlock/internal/fault"
	"interlock/internal/usage"
)

// R-CLOUD-9
func TestMatchPrefersTheExactModelThenTheLongestPrefix(t *testing.T) {
	t.Parallel()
	prices := []usage.Price{
		{Provider: "openai", Model: "*", Input: 1},
		{Provider: "openai", Model: "gpt-*", Input: 2},
		{Provider: "openai", Model: "gpt-5-*", Input: 3},
		{Provider: "openai", Model: "gpt-5-mini", Input: 4},
		{Provider: "anthropic", Model: "claude-*", Input: 5},
	}
	for name, c := range map[string]struct {
		provider, model string
		want            int64 // Input of the price; 0: none
	}{
		"the exact name wins over a longer prefix":  {"openai", "gpt-5-mini", 4},
		"the longest prefix wins":                   {"openai", "gpt-5-nano", 3},
		"a shorter prefix serves":                   {"openai", "gpt-4o", 2},
		"a lone star covers all of its provider":    {"openai", "o9", 1},
		"another provider's prices don't count":     {"anthropic", "gpt-5-mini", 0},
		"a name that only looks like the prefix":    {"anthropic", "claud", 0},
		"the star of an entry is not part of names": {"anthropic", "claude-*", 5},
	} {
		p, ok := usage.Match(prices, c.provider, c.model)
		if ok != (c.want != 0) || p.Input != c.want {
			t.Errorf("%s: got %+v, %v; want input %d", name, p, ok, c.want)
		}
	}
}

// R-CLOUD-9, R-PLAN-7
func TestCostsKeepWhatIsUnknownApart(t *testing.T) {
	t.Parallel()
	usd := usage.Price{Provider: "p", Model: "m", Currency: "USD", Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, Output: 15_000_000}
	eur := usage.Price{Provider: "q", Model: "*", Currency: "EUR", Input: 1, CachedInput: 1, CacheWrite: 1, Output: 1}
	row := usage.Rollup{Provider: "p", Model: "m", Calls: 2, Input: usage.Sum{Total: 1000}, CachedInput: usage.Sum{Total: 400}, CacheWrite: usage.Sum{Total: 100}, Output: usage.Sum{Total: 10}}
	for name, c := range map[string]struct {
		rows []usage.Rollup
		want []usage.Cost
	}{
		"cached and written input have prices of their own": {
			[]usage.Rollup{row}, []usage.Cost{{Currency: "USD", Micro: 500*3 + 120 + 375 + 150}}},
		"a call without an output count makes it at least": {
			[]usage.Rollup{{Provider: "p", Model: "m", Calls: 1, Input: usage.Sum{Total: 1}, Output: usage.Sum{Unknown: 1}}},
			[]usage.Cost{{Currency: "USD", Micro: 3, AtLeast: true}}},
		"an unknown cached part makes it rough": {
			[]usage.Rollup{{Provider: "p", Model: "m", Calls: 1, Input: usage.Sum{Total: 1}, CachedInput: usage.Sum{Unknown: 1}}},
			[]usage.Cost{{Currency: "USD", Micro: 3, Rough: true}}},
		"an unknown cached part that costs the same does not": {
			[]usage.Rollup{{Provider: "q", Model: "m", Calls: 1, Input: usage.Sum{Total: 1_000_000}, CachedInput: usage.Sum{Unknown: 1}}},
			[]usage.Cost{{Currency: "EUR", Micro: 1}}},
		"a model without a price makes the rest at least": {
			[]usage.Rollup{row, {Provider: "x", Model: "y", Calls: 1}}, []usage.Cost{{Currency: "USD", Micro: 2145, AtLeast: true}}},
		"no price at all is no cost": {[]usage.Rollup{{Provider: "x", Model: "y", Calls: 1}}, nil},
		"currencies are not added up": {
			[]usage.Rollup{row, {Provider: "q", Model: "z", Calls: 1, Output: usage.Sum{Total: 2_500_000}}},
			[]usage.Cost{{Currency: "EUR", Micro: 3}, {Currency: "USD", Micro: 2145}}},
		"more cached than input is not a refund": {
			[]usage.Rollup{{Provider: "p", Model: "m", Calls: 1, Input: usage.Sum{Total: 10}, CachedInput: usage.Sum{Total: 20}}},
			[]usage.Cost{{Currency: "USD", Micro: 6}}},
		"what no int64 holds stops at the largest": {
			[]usage.Rollup{{Provider: "p", Model: "m", Calls: 1, Output: usage.Sum{Total: math.MaxInt64}}},
			[]usage.Cost{{Currency: "USD", Micro: math.MaxInt64}}},
	} {
		if diff := cmp.Diff(c.want, usage.Costs(c.rows, []usage.Price{usd, eur})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Many small rows cost what their sum costs: rounding happens once.
func TestCostsRoundOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := usage.Price{Provider: "p", Model: "m", Currency: "USD", Output: rapid.Int64Range(0, 1e9).Draw(t, "price")}
		tokens := rapid.SliceOfN(rapid.Int64Range(0, 1e6), 1, 50).Draw(t, "tokens")
		var rows []usage.Rollup
		want := new(big.Int)
		for _, n := range tokens {
			rows = append(rows, usage.Rollup{Provider: "p", Model: "m", Calls: 1, Output: usage.Sum{Total: n}})
			want.Add(want, new(big.Int).Mul(big.NewInt(n), big.NewInt(price.Output)))
		}
		got := usage.Costs(rows, []usage.Price{price})[0].Micro
		// |got - want/10^6| <= 1/2, in whole numbers.
		off := new(big.Int).Sub(new(big.Int).Mul(big.NewInt(got), big.NewInt(1_000_000)), want)
		if off.Abs(off).Cmp(big.NewInt(500_000)) > 0 {
			t.Fatalf("got %d micro for %v millionths", got, want)
		}
	})
}

func TestAPriceThatCannotBeIsRefusedWithEveryProblem(t *testing.T) {
	t.Parallel()
	bad := usage.Price{Provider: "a b", Model: "x*y", Currency: "usd", Input: -1, Output: math.MaxInt64}
	err := bad.Validate()
	if fault.KindOf(err) != fault.Invalid {
		t.Fatalf("got %v, want Invalid", err)
	}
	for _, word := range []string{"provider", "model", "currency", "input_micro", "output_micro"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	if err := (usage.Price{Provider: "openai", Model: "gpt-*", Currency: "USD"}).Validate(); err != nil {
		t.Errorf("a free model: %v", err)
	}
}

func TestCapsReportEveryProblem(t *testing.T) {
	t.Parallel()
	if wrong := (usage.Caps{}).Problems(); wrong != nil {
		t.Errorf("zero caps: %q", wrong)
	}
	wrong := usage.Caps{DecisionsPerAttempt: -1, TokensPerTask: -1, Concurrent: -1, ConcurrentPerHost: -1, RequestBytes: 1}.Problems()
	if len(wrong) != 5 {
		t.Errorf("got %q, want five problems", wrong)
	}
}
