package task

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// DefaultPriority is the priority of a task whose submitter names none.
const DefaultPriority = 5

// Limits of a Spec.
const (
	MaxGoal     = 4_000 // characters
	maxPriority = 9
	maxSteps    = 1_000
	maxWallTime = 24 * time.Hour
	maxTokens   = 1_000_000_000
	maxAttempts = 20
	maxAppLock  = 64
	maxPackage  = 256 // bytes
	maxSelector = 128 // bytes of each field
	maxReason   = 500 // characters
	maxKey      = 200 // bytes
	maxAhead    = 366 * 24 * time.Hour
)

// KeepKeys is how long a submit's idempotency key is remembered at least.
const KeepKeys = 30 * 24 * time.Hour

// Submission is a task that an operator asks for. By is the actor. Key, where
// not empty, makes a repeat within KeepKeys return the first task.
type Submission struct {
	Tenant tenant.ID
	By     string
	Key    string
	Spec   Spec
}

// Submit checks and queues a task, and offers it to a waiting host. A repeat
// with the same key returns the first one's task and true, also when the times
// of its spec have passed meanwhile. The fault Invalid lists every problem of
// the spec; ErrKeyReused.
func (s *Service) Submit(ctx context.Context, sub Submission) (Task, bool, error) {
	return s.submit(ctx, sub, "")
}

// Retry queues a new task with the spec of one that has ended, linked to it by
// RetryOf. Times of the old spec that have passed are left out. ErrNotFound,
// ErrNotTerminal.
func (s *Service) Retry(ctx context.Context, t tenant.ID, by string, id ID, key string) (Task, bool, error) {
	old, err := s.store.Task(ctx, t, id)
	switch {
	case err != nil:
		return Task{}, false, fmt.Errorf("retry task %s: %w", id, err)
	case !old.State.Terminal():
		return Task{}, false, ErrNotTerminal
	}
	spec := old.Spec
	spec.NotBefore, spec.ExpiresAt = time.Time{}, time.Time{}
	return s.submit(ctx, Submission{Tenant: t, By: by, Key: key, Spec: spec}, id)
}

func (s *Service) submit(ctx context.Context, sub Submission, retryOf ID) (Task, bool, error) {
	now := s.now()
	if refused := sub.check(now); refused != nil {
		return s.submittedInTime(ctx, sub, retryOf, refused)
	}
	body := bodyHash(sub.Spec, retryOf) // before the defaults, which depend on the time
	spec := sub.Spec
	if spec.MaxAttempts == 0 {
		spec.MaxAttempts = s.cfg.MaxTries
	}
	start := now
	if spec.NotBefore.After(now) {
		start = spec.NotBefore.UTC()
	}
	if spec.ExpiresAt.IsZero() {
		spec.ExpiresAt = start.Add(s.cfg.QueueLife)
	}
	t := Task{ID: ID(uuid.Must(uuid.NewV7()).String()), Tenant: sub.Tenant, Spec: spec, State: Queued, RetryOf: retryOf,
		NextRun: start, CreatedAt: now, UpdatedAt: now}
	action, detail := "task.submit", map[string]string(nil)
	if retryOf != "" {
		action, detail = "task.retry", map[string]string{"retry_of": string(retryOf)}
	}
	stored, replayed, err := s.store.Submit(ctx, t, sub.Key, body, s.fact(sub.Tenant, sub.By, action, t.ID, detail))
	if err != nil {
		return Task{}, false, fmt.Errorf("submit task: %w", err)
	}
	if !replayed {
		s.counts.submitted.Add(1)
		s.changed(changeOf(stored))
		s.offer(stored)
	}
	return stored, replayed, nil
}

// submittedInTime answers a submission that must be refused now: with the first
// task if it is the repeat of one that was in time, else with the refusal.
func (s *Service) submittedInTime(ctx context.Context, sub Submission, retryOf ID, refused error) (Task, bool, error) {
	if len(sub.problems()) > 0 {
		return Task{}, false, refused
	}
	first, found, err := s.store.Submitted(ctx, sub.Tenant, sub.Key, bodyHash(sub.Spec, retryOf))
	switch {
	case err != nil:
		return Task{}, false, fmt.Errorf("submit task: %w", err)
	case !found:
		return Task{}, false, refused
	}
	return first, true, nil
}

// bodyHash tells one request from another under the same key. The encoding is
// ours alone, so struct order makes it canonical; json sorts maps.
func bodyHash(spec Spec, retryOf ID) [32]byte {
	b, err := json.Marshal(struct {
		Spec    Spec
		RetryOf ID
	}{spec, retryOf})
	if err != nil {
		panic("task: a checked spec has no JSON form: " + err.Error())
	}
	return sha256.Sum256(b)
}

func (sub Submission) check(now time.Time) error {
	wrong := append(sub.problems(), sub.Spec.lateness(now)...)
	return wrong.Refuse("invalid_task", "the task")
}

// problems lists what is wrong with a submission at any time.
func (sub Submission) problems() fault.Problems {
	wrong := sub.Spec.problems()
	wrong.Require(len(sub.Key) <= maxKey && printable(sub.Key), "the idempotency key is longer than %d bytes or not printable", maxKey)
	return wrong
}

// problems lists everything that is wrong with a spec, whatever the time is.
func (sp Spec) problems() (wrong fault.Problems) {
	wrong.Require(strings.TrimSpace(sp.Goal) != "", "goal is empty; say what the device should look like, or have done, at the end")
	wrong.Require(text(sp.Goal, MaxGoal), "goal is longer than %d characters or not UTF-8 text", MaxGoal)
	wrong.Require(sp.Priority >= 0 && sp.Priority <= maxPriority, "priority is not between 0 and %d", maxPriority)
	wrong.Require(sp.MaxAttempts >= 0 && sp.MaxAttempts <= maxAttempts, "max_attempts is not between 1 and %d", maxAttempts)
	wrong.Require(sp.Budgets.Steps >= 0 && sp.Budgets.Steps <= maxSteps, "budgets.steps is not between 0 and %d", maxSteps)
	wrong.Require(sp.Budgets.WallTime >= 0 && sp.Budgets.WallTime <= maxWallTime, "budgets.wall_time is not between 0 and %v", maxWallTime)
	wrong.Require(sp.Budgets.Tokens >= 0 && sp.Budgets.Tokens <= maxTokens, "budgets.tokens is not between 0 and %d", maxTokens)
	wrong.Require(len(sp.AppLock) <= maxAppLock, "app_lock has more than %d packages", maxAppLock)
	for i, pkg := range sp.AppLock[:min(len(sp.AppLock), maxAppLock)] {
		wrong.Require(pkg != "" && len(pkg) <= maxPackage && printable(pkg), "app_lock[%d] is empty, longer than %d bytes or not printable", i, maxPackage)
	}
	for name, at := range map[string]time.Time{"not_before": sp.NotBefore, "expires_at": sp.ExpiresAt} {
		wrong.Require(at.IsZero() || at.Year() >= 1970 && at.Year() <= 9999, "%s is before 1970 or after 9999", name)
	}
	wrong = append(wrong, sp.Selector.problems()...)
	wrong = append(wrong, fleet.LabelProblems("the task", sp.Labels)...)
	if err := sp.Policy.Validate(); err != nil {
		wrong.Add("%s", fault.Of(err).Detail)
	}
	return wrong
}

// lateness lists what is wrong with a spec's times now.
func (sp Spec) lateness(now time.Time) (wrong fault.Problems) {
	wrong.Require(!sp.NotBefore.After(now.Add(maxAhead)), "not_before is more than a year ahead")
	wrong.Require(sp.ExpiresAt.IsZero() || sp.ExpiresAt.After(now) && sp.ExpiresAt.After(sp.NotBefore), "expires_at is past, or not after not_before")
	wrong.Require(!sp.ExpiresAt.After(now.Add(2*maxAhead)), "expires_at is more than two years ahead")
	return wrong
}

func (s Selector) problems() (wrong fault.Problems) {
	for name, v := range map[string]string{"host_id": string(s.Host), "device": s.Device, "kind": s.Kind} {
		wrong.Require(len(v) <= maxSelector && printable(v), "the selector's %s is longer than %d bytes or not printable", name, maxSelector)
	}
	return append(wrong, fleet.LabelProblems("the selector", s.Labels)...)
}

// text reports whether s is at most limit characters of UTF-8 without NUL.
func text(s string, limit int) bool {
	return len(s) <= limit*utf8.UTFMax && utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsRune(s, 0)
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == utf8.RuneError }) < 0
}
