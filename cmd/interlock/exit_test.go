package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/runner"
	"interlock/internal/store"
)

func TestEachKindOfFailureHasItsExitCode(t *testing.T) {
	t.Parallel()
	kind := func(k fault.Kind) error { return fault.New(k, "some_code", "do something") }
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"wrong usage", usageError("no such thing as that"), exitUsage},
		{"refused as invalid", kind(fault.Invalid), exitUsage},
		{"not authenticated", kind(fault.Unauthenticated), exitUnauthorised},
		{"not allowed", kind(fault.Forbidden), exitUnauthorised},
		{"not found", kind(fault.NotFound), exitNotFound},
		{"in another state", kind(fault.Conflict), exitFailed},
		{"a limit is reached", kind(fault.Exhausted), exitFailed},
		{"unreachable", kind(fault.Unavailable), exitUnavailable},
		{"a revoked host", fmt.Errorf("poll: %w", fleet.ErrHostRevoked), exitUnauthorised},
		{"a full disk", fmt.Errorf("record: %w", store.ErrFull), exitStorage},
		{"a locked database", store.ErrLocked, exitStorage},
		{"a second server", store.ErrInUse, exitStorage},
		{"a file that is no database", store.ErrNotDatabase, exitStorage},
		{"a database of a newer version", store.ErrNewer, exitStorage},
		{"a folder that can't be written", store.ErrPlace, exitStorage},
		{"a network disk", store.ErrNetworkDisk, exitStorage},
		{"a defect", errors.New("nil map at 0x1234"), exitFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, sentence := verdict(context.Background(), tt.err)
			if code != tt.want || sentence == "" || strings.Contains(sentence, "0x1234") {
				t.Errorf("exit code %d (%q), want %d", code, sentence, tt.want)
			}
		})
	}
}

// The output of a run says why it failed; the exit code says of which kind it
// was, and nothing is said twice.
func TestATaskThatFailedHasTheExitCodeOfItsReasonAndNoSecondSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result runner.Result
		want   int
	}{
		"a provider that can't be reached":   {runner.Result{State: runner.Failed, Reason: llm.Transport.TaskReason()}, exitUnavailable},
		"a provider that refuses the key":    {runner.Result{State: runner.Failed, Reason: llm.Auth.TaskReason()}, exitUnauthorised},
		"a host that may not decide":         {runner.Result{State: runner.Failed, Reason: llm.PlannerForbidden.TaskReason()}, exitUnauthorised},
		"a model that declined":              {runner.Result{State: runner.Failed, Reason: llm.Refused.TaskReason()}, exitFailed},
		"a device that doesn't answer":       {runner.Result{State: runner.DeviceLost, Reason: "device_lost"}, exitUnavailable},
		"a proposal that policy turned down": {runner.Result{State: runner.Failed, Reason: "policy_denied"}, exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, sentence := verdict(context.Background(), resultError(c.result))
			if code != c.want || sentence != "" {
				t.Errorf("exit code %d (%q), want %d and no sentence", code, sentence, c.want)
			}
		})
	}
}

func TestASignalIsNotAFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errInterrupted)
	if code, _ := verdict(ctx, fmt.Errorf("read: %w", context.Canceled)); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}
