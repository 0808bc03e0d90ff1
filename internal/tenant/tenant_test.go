package tenant_test

import (
	"strings"
	"testing"

	"interlock/internal/tenant"
)

func TestParse(t *testing.T) {
	for in, ok := range map[string]bool{
		"default": true, "a": true, "acme-2": true, strings.Repeat("a", 64): true,
		"": false, "2acme": false, "-a": false, "Acme": false, "a_b": false, "é": false, "a b": false, strings.Repeat("a", 65): false,
	} {
		if _, err := tenant.Parse(in); (err == nil) != ok {
			t.Errorf("Parse(%q) = %v, want ok=%v", in, err, ok)
		}
	}
}
