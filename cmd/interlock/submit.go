package main

import (
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/policy"
	"interlock/internal/serve/operators"
)

// submission is what the flags of a submit say.
type submission struct {
	spec     operators.TaskSpec
	key      string
	watch    bool
	wallTime time.Duration
	priority int
	maxRisk  string
	start    string
	expires  string
	device   map[string]string
}

// flags declares the flags that describe a task.
func (s *submission) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.spec.Device.DeviceID, "device", "", "only on the device with this `ID`")
	f.StringVar(&s.spec.Device.Kind, "kind", "", "only on devices of this kind, such as sim")
	f.StringVar(&s.spec.Device.HostID, "host", "", "only on the host with this `ID`")
	f.StringToStringVar(&s.device, "device-label", nil, "only on devices with this `NAME=VALUE`, its own or its host's")
	f.IntVar(&s.spec.Budgets.Steps, "steps", 0, "steps that an attempt may take (0: the host's default)")
	f.DurationVar(&s.wallTime, "wall-time", 0, "how long an attempt may take (0: the host's default)")
	f.Int64Var(&s.spec.Budgets.Tokens, "tokens", 0, "tokens that an attempt may use (0: no limit)")
	f.IntVar(&s.priority, "priority", 5, "0 to 9, 9 is served first")
	f.BoolVar(&s.spec.Repeatable, "repeatable", false, "an attempt that already acted may be tried again by itself")
	f.StringSliceVar(&s.spec.AppLock, "app", nil, "`PACKAGE` that the task may act in, repeatable; without it: any")
	f.StringSliceVar(&s.spec.Policy.AllowedTools, "allow-tool", nil, "`TOOL` that may be used, repeatable; without it: all")
	safetyFlags(c, &s.spec.Policy)
	f.StringVar(&s.maxRisk, "max-risk", "", "low, medium or high: riskier calls are denied")
	f.IntVar(&s.spec.MaxAttempts, "attempts", 0, "attempts that may be made (0: the server's default)")
	f.StringVar(&s.start, "not-before", "", "not started before this `TIME`, such as 2026-12-24T18:00:00Z, or 2h from now")
	f.StringVar(&s.expires, "expires", "", "dead if it is still queued at this `TIME`")
	f.StringToStringVar(&s.spec.Labels, "label", nil, "`NAME=VALUE` to find the task by, repeatable")
	f.StringVar(&s.key, "key", "", "idempotency `KEY`: the same again gets the same task")
	f.BoolVar(&s.watch, "watch", false, "stay until the task has ended; exit code 1 if it did not succeed")
}

// safetyFlags declares the flags that say what of a task can be taken back.
func safetyFlags(c *cobra.Command, doc *policy.Document) {
	f := c.Flags()
	f.StringSliceVar(&doc.Reversible, "reversible", nil, "`TOOL` whose calls can be taken back or made again without harm, repeatable")
	f.StringSliceVar(&doc.Irreversible, "irreversible", nil, "`TOOL` whose calls can't be taken back, repeatable; the same one is not made twice on one screen")
	f.StringSliceVar(&doc.ConfirmWords, "confirm-word", nil, "`WORD` or phrase; what it names is not touched, repeatable; \"\": none; without it: a list of what pays, buys, deletes accounts")
}

// task returns what was asked for.
func (s *submission) task(goal string, now time.Time) (operators.TaskSpec, error) {
	spec := s.spec
	spec.Goal, spec.Priority = goal, &s.priority
	spec.Device.Labels = s.device
	spec.Budgets.WallTimeMS = s.wallTime.Milliseconds()
	spec.Policy.MaxRisk = policy.Risk(s.maxRisk)
	var err error
	if spec.NotBefore, err = s.moment("--not-before", s.start, now); err != nil {
		return spec, err
	}
	spec.ExpiresAt, err = s.moment("--expires", s.expires, now)
	return spec, err
}

// moment reads a time, or one from now; zero if the flag is not set. With a key
// it must be a time: from now, a repeat would ask for another task.
func (s *submission) moment(flag, value string, now time.Time) (time.Time, error) {
	at, fromNow, err := moment(flag, value, now)
	if err == nil && fromNow && s.key != "" {
		return time.Time{}, usageError("with --key, %s must be a time such as 2026-12-24T18:00:00Z, so that a repeat asks for the same", flag)
	}
	return at, err
}

// moment reads a time, the start of a day in UTC, or a time from now; zero if
// the flag is not set.
func moment(flag, value string, now time.Time) (at time.Time, fromNow bool, err error) {
	if value == "" {
		return time.Time{}, false, nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, value); err == nil {
			return at.UTC(), false, nil
		}
	}
	d, err := duration(time.Second, 10*365*24*time.Hour)(value)
	if err != nil {
		return time.Time{}, false, usageError("%s must be a time such as 2026-12-24T18:00:00Z or 2026-12-24, or one from now such as 2h or 3d", flag)
	}
	return now.Add(d).UTC(), true, nil
}

func (p *program) taskSubmit() *cobra.Command {
	var s submission
	c := p.operatorCommand(`submit "GOAL"`, "submit a task", arguments(`a goal, such as "turn on dark theme"`), func(cl *client, args []string) error {
		if err := checkGoal(args[0]); err != nil {
			return err
		}
		if s.priority < 0 || s.priority > 9 {
			return usageError("--priority takes 0 to 9, 9 is served first")
		}
		spec, err := s.task(args[0], time.Now())
		if err != nil {
			return err
		}
		var reply operators.SubmitReply
		if err := cl.once(p.ctx, operators.PathTasks, s.key, spec, &reply); err != nil {
			return err
		}
		p.warnUnserved(cl, reply.Task)
		return p.submitted(cl, reply, s.watch)
	})
	s.flags(c)
	return c
}

// warnUnserved says so if no host offers a device that could serve the task
// now. It is a courtesy: what it can't find out it doesn't mention.
func (p *program) warnUnserved(cl *client, k operators.Task) {
	var list operators.HostList
	if k.Ended() || cl.get(p.ctx, operators.PathHosts, nil, &list) != nil {
		return
	}
	for _, h := range list.Hosts {
		if h.Status == "revoked" || (k.Device.HostID != "" && k.Device.HostID != h.ID) {
			continue
		}
		for _, d := range h.Devices {
			if serves(h, d, k.Device) {
				return
			}
		}
	}
	p.notef("no host offers a device for it now; the task waits until one does, or is cancelled with: interlock task cancel %s\n", k.ID)
}

// serves reports whether a host's device is one that a task asks for; a device
// has its host's labels too.
func serves(h operators.Host, d operators.HostDevice, want operators.Selector) bool {
	for name, value := range want.Labels {
		own, onDevice := d.Labels[name]
		hosts, onHost := h.Labels[name]
		if !(onDevice && own == value) && !(onHost && hosts == value) {
			return false
		}
	}
	return (want.DeviceID == "" || want.DeviceID == d.ID) && (want.Kind == "" || want.Kind == d.Kind)
}

// submitted shows the task that was made, and follows it if asked to.
func (p *program) submitted(cl *client, reply operators.SubmitReply, watch bool) error {
	if watch {
		p.notef("task %s is %s\n", reply.Task.ID, reply.Task.State)
		return p.watch(cl, reply.Task.ID)
	}
	if p.json {
		return p.printJSON(reply.Task)
	}
	p.printf("%s\n", reply.Task.ID)
	p.notef("the task is %s; follow it with: interlock task watch %s\n", reply.Task.State, reply.Task.ID)
	return nil
}
