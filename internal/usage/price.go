package usage

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"interlock/internal/fault"
)

// Cost is money in whole micro-units of a currency.
type Cost struct {
	Currency string
	Micro    int64 // rounded half up from the exact sum
	// AtLeast says that the true cost is higher: calls that reported no input
	// or no output count, or that have no price, are not in Micro.
	AtLeast bool
	// Rough says that some calls did not report what part of their input was
	// cached, so that it was priced as plain input.
	Rough bool
}

const perMillion = 1_000_000

// Match returns the price of a model: the exact entry, else the one with the
// longest prefix.
func Match(prices []Price, provider, model string) (Price, bool) {
	best, found := Price{}, false
	for _, p := range prices {
		prefix, isPrefix := strings.CutSuffix(p.Model, "*")
		switch {
		case p.Provider != provider:
		case p.Model == model:
			return p, true
		case isPrefix && strings.HasPrefix(model, prefix) && (!found || len(p.Model) > len(best.Model)):
			best, found = p, true
		}
	}
	return best, found
}

// Costs prices usage rows that name their provider and model, one Cost a
// currency in its order. Rows without a price make every Cost AtLeast; if no
// row has one, there is no Cost.
func Costs(rows []Rollup, prices []Price) []Cost {
	type sum struct {
		exact *big.Int // millionths of a micro-unit
		Cost
	}
	sums, unpriced := map[string]*sum{}, false
	for _, r := range rows {
		p, ok := Match(prices, r.Provider, r.Model)
		if !ok {
			unpriced = unpriced || r.Calls > 0
			continue
		}
		s := sums[p.Currency]
		if s == nil {
			s = &sum{exact: new(big.Int), Cost: Cost{Currency: p.Currency}}
			sums[p.Currency] = s
		}
		s.exact.Add(s.exact, exact(r, p))
		s.AtLeast = s.AtLeast || r.Input.Unknown > 0 || r.Output.Unknown > 0
		s.Rough = s.Rough || (r.CachedInput.Unknown > 0 && p.CachedInput != p.Input) || (r.CacheWrite.Unknown > 0 && p.CacheWrite != p.Input)
	}
	var out []Cost
	for _, s := range sums {
		s.Micro = rounded(s.exact)
		s.AtLeast = s.AtLeast || unpriced
		out = append(out, s.Cost)
	}
	slices.SortFunc(out, func(a, b Cost) int { return strings.Compare(a.Currency, b.Currency) })
	return out
}

// exact is the cost of r in millionths of a micro-unit. Input includes what
// was cached or written to the cache, which have prices of their own.
func exact(r Rollup, p Price) *big.Int {
	plain := max(r.Input.Total-r.CachedInput.Total-r.CacheWrite.Total, 0)
	total := new(big.Int)
	for _, part := range [][2]int64{{plain, p.Input}, {r.CachedInput.Total, p.CachedInput}, {r.CacheWrite.Total, p.CacheWrite}, {r.Output.Total, p.Output}} {
		total.Add(total, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
	}
	return total
}

// rounded divides by a million, half up, and stops at the largest int64.
func rounded(exact *big.Int) int64 {
	micro := new(big.Int).Div(new(big.Int).Add(exact, big.NewInt(perMillion/2)), big.NewInt(perMillion))
	if !micro.IsInt64() {
		return math.MaxInt64
	}
	return micro.Int64()
}

// Limits of a price.
const (
	maxPrice = 1_000_000_000_000_000 // micro-units a million tokens
	maxName  = 128
)

// Validate reports every problem of a price in one fault of kind Invalid.
func (p Price) Validate() error {
	var wrong fault.Problems
	wrong.Require(nameLike(p.Provider) && !strings.Contains(p.Provider, "*"), "provider is not 1 to %d printable ASCII characters without '*'", maxName)
	wrong.Require(nameLike(p.Model) && !strings.Contains(strings.TrimSuffix(p.Model, "*"), "*"), "model is not 1 to %d printable ASCII characters, with '*' only at its end", maxName)
	wrong.Require(len(p.Currency) == 3 && strings.Trim(p.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "", "currency is not a code of three capital letters such as USD")
	for _, part := range []struct {
		name  string
		micro int64
	}{{"input", p.Input}, {"cached_input", p.CachedInput}, {"cache_write", p.CacheWrite}, {"output", p.Output}} {
		wrong.Require(part.micro >= 0 && part.micro <= maxPrice, "%s_micro_per_million is not between 0 and %d", part.name, maxPrice)
	}
	return wrong.Refuse("invalid_price", "the price")
}

func nameLike(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}
