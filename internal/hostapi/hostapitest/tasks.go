package hostapitest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
)

// The states of a task here.
const (
	Queued     = "queued"
	Leased     = "leased"
	Running    = "running"
	Cancelling = "cancelling"
	Ended      = "ended" // Result says how
)

var (
	errNotFound  = fault.New(fault.NotFound, "task_not_found", "there is no such task")
	errStale     = fault.New(fault.Conflict, "stale_attempt", "this attempt is over")
	errLost      = fault.New(fault.Conflict, "lease_lost", "this attempt's lease is lost")
	errDifferent = fault.New(fault.Conflict, "already_terminal_different", "this attempt was ended with another result")
	errGap       = fault.New(fault.Conflict, "events_gap", "an event is missing")
)

// Task is what is known of one task.
type Task struct {
	ID       string
	State    string
	Attempt  int // of the latest claim
	Device   string
	Acked    bool // the latest attempt
	Acting   bool // the latest attempt
	Events   []hostapi.Event
	Result   *hostapi.ResultRequest // of the attempt that ended it
	Accepted int                    // results that were taken, replays not counted
	Replays  int
	Released []hostapi.ReleaseRequest
	Decides  int       // decisions made for it
	Renewed  time.Time // when its lease was last renewed
}

type task struct {
	Task
	job     hostapi.Assignment
	host    string
	expires time.Time
	pollKey string             // of the poll that claimed it
	given   hostapi.Assignment // what that poll was answered
}

func (t *task) held() bool {
	return t.State == Leased || t.State == Running || t.State == Cancelling
}

// renew extends the lease; the caller holds mu.
func (t *task) renew(s *Server) {
	t.Renewed = time.Now()
	t.expires = t.Renewed.Add(time.Duration(s.opts.Timings.LeaseMS) * time.Millisecond)
}

// Submit queues a task. DeviceID, where set, says which device must serve.
func (s *Server) Submit(job hostapi.Assignment) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = fmt.Sprintf("task-%d", len(s.tasks)+1)
	s.tasks = append(s.tasks, &task{Task: Task{ID: id, State: Queued}, job: job})
	s.changed()
	return id
}

// Task returns a task as it is now.
func (s *Server) Task(id string) Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reap()
	t := s.find(id)
	out := t.Task
	out.Events, out.Released = slices.Clone(t.Events), slices.Clone(t.Released)
	return out
}

// Cancel asks for the end of a task.
func (s *Server) Cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.find(id)
	if t.held() {
		t.State = Cancelling
		h := s.hosts[t.host]
		h.signals = append(h.signals, hostapi.Signal{Kind: hostapi.SignalCancel, TaskID: id, Attempt: t.Attempt})
	} else if t.State == Queued {
		t.State = Ended
	}
	s.changed()
}

// TakeAway ends a held task's lease as if it had run out.
func (s *Server) TakeAway(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(id).expires = time.Now()
	s.reap()
	s.changed()
}

// find returns a task; the caller holds mu.
func (s *Server) find(id string) *task {
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.ID == id })
	if i < 0 {
		return &task{Task: Task{ID: id}}
	}
	return s.tasks[i]
}

// reap requeues what ran out, and keeps its device for the grace; the caller
// holds mu.
func (s *Server) reap() {
	for _, t := range s.tasks {
		if t.held() && !time.Now().Before(t.expires) {
			s.devices[t.host+"/"+t.Device] = t.expires.Add(s.opts.DeviceGrace)
			t.State = Queued
		}
	}
}

// fenced returns the task if the host holds the attempt; the caller holds mu.
func (s *Server) fenced(host, id string, attempt int) (*task, error) {
	s.reap()
	t := s.find(id)
	switch {
	case t.State == "":
		return nil, errNotFound
	case t.Attempt != attempt || t.State == Ended:
		return nil, errStale
	case t.host != host || !t.held():
		return nil, errLost
	}
	return t, nil
}

func (s *Server) poll(c call) (any, error) {
	req, err := read[hostapi.PollRequest](s, c)
	if err != nil {
		return nil, err
	}
	if req.Max < 0 || req.Max > len(req.Idle) {
		return nil, s.violation("a poll asks for %d tasks on %d idle devices", req.Max, len(req.Idle))
	}
	hold := time.NewTimer(time.Duration(req.WaitMS) * time.Millisecond)
	defer hold.Stop()
	s.mu.Lock()
	me := c.host.takeOver()
	s.changed() // answers the poll that was taken over
	s.mu.Unlock()
	for {
		reply, over, change, err := s.look(c, req, me)
		switch {
		case err != nil:
			return nil, err
		case reply != nil:
			return *reply, nil
		case over:
			return nil, nil
		}
		select {
		case <-change:
		case <-time.After(time.Second): // leases run out meanwhile
		case <-hold.C:
			return nil, nil
		case <-c.ctx.Done():
			return nil, nil
		case <-s.closed:
			return nil, nil
		}
	}
}

// look returns what a held poll can be answered with now; over means that
// another poll took over.
func (s *Server) look(c call, req hostapi.PollRequest, me int) (reply *hostapi.PollReply, over bool, change <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reap()
	switch {
	case c.host.revoked:
		return &hostapi.PollReply{Signals: []hostapi.Signal{{Kind: hostapi.SignalRevoked}}}, false, nil, nil
	case c.host.poll != me:
		return nil, true, nil, nil
	case s.broken != nil:
		return nil, false, nil, fault.New(fault.Unavailable, "broken", "the server went away")
	}
	r := hostapi.PollReply{Assignments: s.claim(c, req), Signals: c.host.signals}
	c.host.signals = nil
	if len(r.Assignments)+len(r.Signals) > 0 {
		return &r, false, nil, nil
	}
	return nil, false, s.change, nil
}

// claim gives tasks to a poll; the same key gets the same ones again. The
// caller holds mu.
func (s *Server) claim(c call, req hostapi.PollRequest) (out []hostapi.Assignment) {
	for _, t := range s.tasks {
		if t.State == Leased && t.host == c.host.id && t.pollKey == c.key {
			out = append(out, t.given)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, t := range s.tasks {
		if t.State != Queued || len(out) >= req.Max || c.host.drain {
			continue
		}
		device := s.freeDevice(c.host, t.job.DeviceID, req.Idle)
		if device == "" {
			continue
		}
		t.State, t.host, t.Device, t.pollKey, t.Acked, t.Acting, t.Events = Leased, c.host.id, device, c.key, false, false, nil
		t.Attempt++
		t.expires = time.Now().Add(s.opts.AckWithin)
		job := t.job
		job.TaskID, job.Attempt, job.DeviceID, job.LeaseMS = t.ID, t.Attempt, device, s.opts.Timings.LeaseMS
		t.given = job
		out = append(out, job)
	}
	return out
}

// freeDevice returns an idle device that nobody holds and whose grace is over,
// the wanted one where that is set; "" if there is none. The caller holds mu.
func (s *Server) freeDevice(h *host, wanted string, idle []string) string {
	for _, d := range idle {
		taken := slices.ContainsFunc(s.tasks, func(t *task) bool { return t.held() && t.host == h.id && t.Device == d })
		known := slices.ContainsFunc(h.devices, func(o hostapi.Device) bool { return o.ID == d })
		if known && !taken && (wanted == "" || wanted == d) && !time.Now().Before(s.devices[h.id+"/"+d]) {
			return d
		}
	}
	return ""
}

func (s *Server) ack(c call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.fenced(c.host.id, c.task, c.attempt)
	if err != nil {
		return nil, err
	}
	t.Acked = true
	if t.State == Leased {
		t.State = Running
	}
	return t.lease(s), nil
}

func (s *Server) renew(c call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.fenced(c.host.id, c.task, c.attempt)
	if err != nil {
		return nil, err
	}
	return t.lease(s), nil
}

// lease renews and says so; the caller holds mu.
func (t *task) lease(s *Server) hostapi.LeaseReply {
	t.renew(s)
	return hostapi.LeaseReply{LeaseMS: s.opts.Timings.LeaseMS, Cancel: t.State == Cancelling}
}

func (s *Server) events(c call) (any, error) {
	req, err := read[hostapi.EventsRequest](s, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.fenced(c.host.id, c.task, c.attempt)
	if err != nil {
		return nil, err
	}
	for _, e := range req.Events {
		switch {
		case e.Seq < len(t.Events):
			continue
		case e.Seq > len(t.Events):
			return nil, errGap
		}
		t.Events = append(t.Events, e)
		t.Acting = t.Acting || e.Kind == hostapi.EventActing
	}
	return hostapi.EventsReply{Next: len(t.Events), Cancel: t.State == Cancelling}, nil
}

func (s *Server) result(c call) (any, error) {
	req, err := read[hostapi.ResultRequest](s, c)
	if err != nil {
		return nil, err
	}
	if req.State == "" || req.State == "lease_lost" {
		return nil, s.violation("a result with state %q was sent", req.State)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reap()
	t := s.find(c.task)
	switch {
	case t.State == "" || t.host != c.host.id:
		return nil, errNotFound
	case t.Attempt != c.attempt:
		return nil, errStale
	case t.State == Ended && t.Result != nil && *t.Result == req:
		t.Replays++
		return hostapi.ResultReply{TaskState: t.State, Replayed: true}, nil
	case t.State == Ended:
		return nil, errDifferent
	}
	t.State, t.Result = Ended, &req
	t.Accepted++
	return hostapi.ResultReply{TaskState: t.State}, nil
}

func (s *Server) release(c call) (any, error) {
	req, err := read[hostapi.ReleaseRequest](s, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c.task); t.State == Queued && t.Attempt == c.attempt && len(t.Released) > 0 {
		return hostapi.ResultReply{TaskState: t.State}, nil // again
	}
	t, err := s.fenced(c.host.id, c.task, c.attempt)
	if err != nil {
		return nil, err
	}
	t.Released = append(t.Released, req)
	t.State = Queued
	return hostapi.ResultReply{TaskState: t.State}, nil
}

// decided is one decision, made or being made.
type decided struct {
	done  chan struct{}
	reply hostapi.DecideReply // set before done is closed
	err   error
}

func (s *Server) decide(c call) (any, error) {
	req, err := read[hostapi.DecideRequest](s, c)
	if err != nil {
		return nil, err
	}
	d, mine, err := s.startDecide(c, req)
	if err != nil {
		return nil, err
	}
	if mine {
		s.makeDecision(c, req, d)
	}
	select {
	case <-d.done:
	case <-c.ctx.Done():
		return nil, fault.New(fault.Unavailable, "gone", "the caller left")
	case <-s.closed:
		return nil, fault.New(fault.Unavailable, "closed", "the server is closed")
	}
	if d.err != nil {
		return nil, d.err
	}
	return d.reply, nil
}

// startDecide finds the decision of this key, or begins it.
func (s *Server) startDecide(c call, req hostapi.DecideRequest) (d *decided, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.fenced(c.host.id, req.TaskID, req.Attempt)
	switch {
	case err != nil:
		return nil, false, err
	case t.State == Cancelling:
		return nil, false, &llm.Unavailable{Reason: llm.Cancelled}
	case s.opts.Decide == nil:
		return nil, false, &llm.Unavailable{Reason: llm.PlannerNotConfigured}
	}
	id := fmt.Sprint(c.host.id, " ", c.key)
	if d := s.decided[id]; d != nil {
		return d, false, nil
	}
	d = &decided{done: make(chan struct{})}
	s.decided[id] = d
	return d, true, nil
}

// makeDecision calls Options.Decide. A failure is not remembered.
func (s *Server) makeDecision(c call, req hostapi.DecideRequest, d *decided) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Duration(req.TimeoutSeconds*float64(time.Second)))
	defer cancel()
	decision, err := s.opts.Decide(ctx, req)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.find(req.TaskID)
	if err != nil {
		d.err = err
		delete(s.decided, fmt.Sprint(c.host.id, " ", c.key))
	} else {
		decision.StepIndex = t.Decides
		d.reply = hostapi.NewDecideReply(decision)
		t.Decides++
	}
	close(d.done)
}
