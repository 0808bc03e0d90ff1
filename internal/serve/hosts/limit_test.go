package hosts_test

import (
	"fmt"
	"strings"
	"testing"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// The rooms of the server don't know the protocol, so each side has its limits.
func TestHostAndServerKeepTheSameLimits(t *testing.T) {
	t.Parallel()
	if hostapi.MaxHeld != task.MaxHeld || hostapi.MaxDevices != fleet.MaxDevices {
		t.Errorf("a host holds %d attempts and offers %d devices, the server takes %d and %d", hostapi.MaxHeld, hostapi.MaxDevices, task.MaxHeld, fleet.MaxDevices)
	}
	w := newWorld(t, usage.Caps{})
	for name, good := range map[string]bool{
		"till-3":                                 true,
		"a.B_0-9":                                true,
		strings.Repeat("n", hostapi.MaxHostName): true,
		strings.Repeat("n", hostapi.MaxHostName+1): false,
		"till 3":     false,
		"k\u00e4sse": false,
		"a/b":        false,
		"a\n":        false,
		"\xff":       false,
	} {
		t.Run(fmt.Sprintf("%.10q of %d bytes", name, len(name)), func(t *testing.T) {
			t.Parallel()
			_, _, err := w.fleet.CreateEnrolToken(t.Context(), fleet.NewEnrolToken{Tenant: tenant.Default, By: "token:test", HostName: name})
			if refused := fault.KindOf(err) == fault.Invalid; refused == good || (err == nil) != good {
				t.Errorf("the server says %v, want it taken: %v", err, good)
			}
			err = host.Config{Name: name}.Validate()
			if refused := strings.Contains(err.Error(), "the host's name is not"); refused == good {
				t.Errorf("the host says %v, want the name taken: %v", err, good)
			}
		})
	}
}
