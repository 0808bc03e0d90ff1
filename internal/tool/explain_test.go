package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"interlock/internal/tool"
)

// R-PLAN-3
func TestARefusalSaysWhatIsWrongAndNeverRepeatsAValue(t *testing.T) {
	t.Parallel()
	s, err := tool.NewSet([]tool.Spec{spec("tap", `{"type":"object","additionalProperties":false,"required":["x"],"properties":{
		"x":{"type":"integer","minimum":0,"maximum":9},"way":{"enum":["up","down"]},"one":{"const":1},"text":{"type":["string","null"],"maxLength":3,"pattern":"^[a-z]*$"},
		"never":false,"list":{"type":"array","maxItems":2,"items":{"type":"object","required":["name","of"],"properties":{"name":{"type":"string"}}}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	const canary = "SECRET"
	many := []string{`"x":1`}
	for i := range 300 {
		many = append(many, fmt.Sprintf(`"p%03d":%q`, i, canary))
	}
	for name, c := range map[string]struct{ args, want string }{
		"a property is missing":              {`{}`, `"x" is missing`},
		"a property is not allowed":          {`{"x":1,"y":"SECRET"}`, `"y" is not allowed`},
		"both at once":                       {`{"y":1}`, `"x" is missing; "y" is not allowed`},
		"a property that is never allowed":   {`{"x":1,"never":"SECRET"}`, `"never" is not allowed`},
		"two properties are missing":         {`{"x":1,"list":[{}]}`, `"list.0.name" and "list.0.of" are missing`},
		"mistakes in many places":            {`{"x":"","way":1,"one":2,"text":1,"never":1,"list":1}`, `"list" is of type number and must be array; "never" is not allowed; "one" is none of the values that its schema lists; "text" is of type number and must be null or string; and 2 more`},
		"a wrong type":                       {`{"x":"SECRET"}`, `"x" is of type string and must be integer`},
		"a wrong type of two":                {`{"x":1,"text":["SECRET"]}`, `"text" is of type array and must be null or string`},
		"none of an enum":                    {`{"x":1,"way":"SECRET"}`, `"way" is none of the values that its schema lists`},
		"not the constant":                   {`{"x":1,"one":"SECRET"}`, `"one" is none of the values that its schema lists`},
		"too small":                          {`{"x":-7777}`, `"x" breaks the rule "minimum" of its schema`},
		"too long and not of the pattern":    {`{"x":1,"text":"SECRET"}`, `"text" breaks the rule "maxLength" of its schema; "text" breaks the rule "pattern" of its schema`},
		"within an array":                    {`{"x":1,"list":[{"name":"SECRET","of":1},{"name":2}]}`, `"list.1.name" is of type number and must be string; "list.1.of" is missing`},
		"a name that is none":                {`{"x":1,"my SECRET":1}`, `"?" is not allowed`},
		"a name that is too long":            {`{"x":1,"` + strings.Repeat(canary, 20) + `":1}`, `"?" is not allowed`},
		"more properties than can be listed": {`{` + strings.Join(many, ",") + `}`, `"p000", "p001", "p002", "p003" and 296 more are not allowed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Check("tap", []byte(c.args))
			if !errors.Is(err, tool.ErrArguments) {
				t.Fatalf("got %v, want ErrArguments", err)
			}
			if got := strings.TrimPrefix(err.Error(), tool.ErrArguments.Error()+": "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(err.Error()) > 1000 || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "7777") {
				t.Errorf("the refusal is long or repeats a value: %.2000s", err)
			}
		})
	}
}
