package fault

import (
	"fmt"
	"strings"
)

// maxTold is how many problems one refusal lists.
const maxTold = 10

// Problems are everything that is wrong with one input, each in a clause, so
// that its author hears of all of it at once. The zero value is none.
type Problems []string

// Add notes one problem.
func (p *Problems) Add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Require notes the problem unless ok.
func (p *Problems) Require(ok bool, format string, args ...any) {
	if !ok {
		p.Add(format, args...)
	}
}

// Refuse returns one error of kind Invalid that asks the caller to correct
// what, or nil if there is no problem. It lists the first few.
func (p Problems) Refuse(code, what string) error {
	if len(p) == 0 {
		return nil
	}
	rest := ""
	if len(p) > maxTold {
		p, rest = p[:maxTold], "; and more"
	}
	return New(Invalid, code, "correct %s: %s%s", what, strings.Join(p, "; "), rest)
}
