package fault_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"interlock/internal/fault"
)

func TestOfKeepsTheClassifiedErrorThroughWrapping(t *testing.T) {
	base := fault.New(fault.Conflict, "stale_attempt", "attempt %d is over", 2)
	got := fault.Of(fmt.Errorf("renew lease: %w", base.Retry(time.Second)))
	if got.Kind != fault.Conflict || got.Detail != "attempt 2 is over" || !got.Retryable || got.RetryAfter != time.Second {
		t.Fatalf("got %+v", got)
	}
	if base.Retryable {
		t.Fatal("Retry changed the original")
	}
	if !errors.Is(got, base) {
		t.Fatal("the copy is not the same code as the original")
	}
}

func TestOfTellsNothingOfAnUnclassifiedError(t *testing.T) {
	cause := errors.New("password is hunter2")
	got := fault.Of(cause)
	if got.Kind != fault.Internal || got.Code != "internal" || got.Detail == cause.Error() {
		t.Fatalf("got %+v", got)
	}
	if !errors.Is(got, cause) {
		t.Fatal("the operator lost the cause")
	}
	if fault.Of(nil) != nil {
		t.Fatal("Of(nil) is not nil")
	}
}

func TestKindNamesAreStable(t *testing.T) {
	want := []string{"internal", "invalid", "forbidden", "not_found", "conflict", "exhausted", "unavailable", "unauthenticated", "kind(8)"}
	for i, w := range want {
		if got := fault.Kind(i).String(); got != w {
			t.Errorf("Kind(%d) = %q, want %q", i, got, w)
		}
	}
}
