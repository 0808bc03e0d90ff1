package decision

import (
	"errors"
	"testing"

	"interlock/internal/fault"
)

// R-CLOUD-9
func TestMemoryThatIsReservedIsRefusedToOthers(t *testing.T) {
	t.Parallel()
	s := &Service{memory: newMemory(100)}
	release, err := s.Reserve("a", 60)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Reserve("b", 41)
	if f := fault.Of(err); !errors.Is(err, ErrBusy) || !f.Retryable || f.RetryAfter == 0 {
		t.Errorf("got %v, want ErrBusy, retryable", err)
	}
	release()
	release() // again is a no-op
	if _, err := s.Reserve("b", 100); err != nil {
		t.Errorf("after the release: %v", err)
	}
	if _, err := s.Reserve("c", 1); !errors.Is(err, ErrBusy) {
		t.Errorf("a double release made room: %v", err)
	}
	if _, err := s.Reserve("c", -1); !errors.Is(err, ErrBusy) {
		t.Errorf("a negative size: %v", err)
	}
}

// R-CLOUD-1: a host that holds its bodies back, or sends ever more, leaves
// room for the others.
func TestNoHostHoldsMoreThanHalfOfTheMemory(t *testing.T) {
	t.Parallel()
	const request = largestRequest
	s := &Service{memory: newMemory(8 * request)}
	var first func()
	for i := range 4 {
		release, err := s.Reserve("greedy", request)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if i == 0 {
			first = release
		}
	}
	if _, err := s.Reserve("greedy", 1); !errors.Is(err, ErrBusy) {
		t.Errorf("beyond half: got %v, want ErrBusy", err)
	}
	if _, err := s.Reserve("modest", request); err != nil {
		t.Errorf("another host: %v", err)
	}
	first()
	if _, err := s.Reserve("greedy", request); err != nil {
		t.Errorf("after giving one back: %v", err)
	}
	small := &Service{memory: newMemory(request)}
	if _, err := small.Reserve("a", request); err != nil {
		t.Errorf("the largest request in the least memory: %v", err)
	}
}
