package anthropic_test

import (
	"testing"

	"interlock/internal/llm"
	"interlock/internal/provider/anthropic"
	"interlock/internal/provider/providertest"
)

func subject() providertest.Subject {
	return providertest.Subject{Shape: providertest.Anthropic, New: func(t testing.TB, e providertest.Endpoint) llm.ToolCaller {
		t.Helper()
		c, err := anthropic.New(e.Config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}}
}

// R-PLAN-2, R-PLAN-3, R-PLAN-5, R-PLAN-7, R-PLAN-10
func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, subject())
}

// R-PLAN-2, R-PLAN-5, R-PLAN-11
func TestConformanceOnFakeClock(t *testing.T) {
	t.Parallel()
	providertest.RunOnFakeClock(t, subject())
}

func structured() providertest.Subject {
	return providertest.Structured(providertest.Anthropic, func(t testing.TB, e providertest.Endpoint) llm.StructuredCaller {
		t.Helper()
		c, err := anthropic.New(e.Config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}

// R-BRIDGE-7
func TestStructuredConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, structured())
}

// R-BRIDGE-7
func TestStructuredConformanceOnFakeClock(t *testing.T) {
	t.Parallel()
	providertest.RunOnFakeClock(t, structured())
}
