package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"interlock/internal/app"
	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
)

func (p *program) demoCommand() *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use: "demo", Short: "server, host, a simulated phone and a site in one process: both kinds of agent before your eyes", Args: arguments(),
		Long: `Runs everything in one process: a server with a scratch database on a free
port, a host with a simulated phone, and one task on it, decided through the
server. Then it shows the decisions out of the log. Without a provider's key a
script answers instead of a model, and the output says so. At last a site sends
an instruction, which becomes one governed look-up of an Australian Business
Number, out of a few built-in records. Nothing stays.`,
	}
	p.settingFlags(c, demoUses)
	c.Flags().BoolVar(&once, "once", false, "end when the task has ended, with exit code 1 if it did not succeed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := p.load(c, demoUses); err != nil {
			return err
		}
		return p.runDemo(once)
	}
	return c
}

const demoUses = forPlanning | forTransport | forProvider

// demo is the whole product in one process.
type demo struct {
	*program // prints for people
	dir      string
	url      string
	sites    string // where sites reach the server
	client   *client
	token    secret.String
	plan     app.Planner
	logger   *slog.Logger
}

// demoReport is what "interlock demo --json" prints.
type demoReport struct {
	Task struct {
		ID    string `json:"id"`
		State string `json:"state"`
		Steps int    `json:"steps"`
	} `json:"task"`
	Provider  string         `json:"provider"`
	Transport string         `json:"transport"`
	Decisions []demoDecision `json:"decisions"` // read back from the log over the API
	Usage     llm.Usage      `json:"usage"`
	Bridge    demoBridge     `json:"bridge"`
}

type demoDecision struct {
	StepIndex int             `json:"step_index"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

func (p *program) runDemo(once bool) error {
	dir, err := os.MkdirTemp("", "interlock-demo-*")
	if err != nil {
		return fault.New(fault.Unavailable, "storage_full", "the demo can't make a folder for its scratch database; set TMPDIR to a folder that can be written").Because(err)
	}
	defer os.RemoveAll(dir)
	d := &demo{program: p.forPeople(), dir: dir, plan: p.demoPlanner(), logger: p.quietLogger()}
	server, err := app.NewServer(p.ctx, app.ServerConfig{Version: version, Listen: "127.0.0.1:0", Database: filepath.Join(dir, "interlock.db"),
		Planner: d.plan, Bridge: app.Bridge{ABN: app.ABN{Source: app.ABNSample}}, Grace: demoGrace, Logger: d.logger})
	if err != nil {
		return err
	}
	d.url, d.sites, d.token = server.OperatorsURL(), server.SitesURL(), server.FirstToken()
	if d.client, err = newClient(d.url, "", d.token); err != nil {
		return errors.Join(err, server.Close())
	}
	// The server goes last: the host gives back what it runs, and is heard.
	serving, stopServing := context.WithCancel(context.WithoutCancel(p.ctx))
	defer stopServing()
	group, ctx := errgroup.WithContext(p.ctx)
	group.Go(func() error { return server.Run(serving) })
	group.Go(func() error {
		defer stopServing()
		return d.run(ctx, once, p.conclude)
	})
	return group.Wait()
}

// forPeople prints text for a person whatever the output is: beside the JSON
// value, on standard error.
func (p *program) forPeople() *program {
	people := *p
	if p.json {
		people.json, people.out, people.outTerminal = false, p.err, p.errTerminal
	}
	return &people
}

// demoGrace is for requests in flight when the demo ends.
const demoGrace = 2 * time.Second

// demoPlanner is the planner of the settings, with the script where they mean
// no provider and the cloud transport where they don't ask for another.
func (p *program) demoPlanner() app.Planner {
	plan := p.settings.planner
	if name, err := plan.Named(); err == nil && name == "" {
		plan.Provider = app.Scripted
	}
	if p.settings.found["AI_PLANNER_TRANSPORT"].source == "default" {
		plan.Transport = app.Cloud
	}
	return plan
}

// run makes the host, runs the task and shows it. It returns when the task has
// ended (once) or when a signal came.
func (d *demo) run(ctx context.Context, once bool, conclude func(demoReport) error) error {
	h, err := d.host(ctx)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.Run(ctx) })
	group.Go(func() error {
		defer end()
		report, err := d.runTask(ctx)
		if err != nil {
			return err
		}
		if !once {
			d.stay(ctx)
		}
		return conclude(report)
	})
	return group.Wait()
}

// host enrolls the phone's host as an operator and a technician would.
func (d *demo) host(ctx context.Context) (*host.Host, error) {
	var reply operators.EnrolTokenReply
	if err := d.client.post(ctx, operators.PathEnrolTokens, operators.NewEnrolToken{HostName: "demo-host"}, &reply); err != nil {
		return nil, err
	}
	return app.NewHost(ctx, app.HostConfig{
		Version: version, Server: d.url, StateDir: filepath.Join(d.dir, "host"), Name: "demo-host",
		Devices:   []app.DeviceConfig{{Kind: "sim", ID: "sim-1", Latency: d.pace()}},
		DrainTime: demoGrace, Planner: d.plan, Logger: d.logger,
	}, secret.New(reply.Token.Reveal()))
}

// pace slows the simulated phone down for eyes.
func (d *demo) pace() time.Duration {
	if d.outTerminal {
		return 150 * time.Millisecond
	}
	return 0
}

// runTask runs the demo's task and reads back what the server knows of it.
func (d *demo) runTask(ctx context.Context) (demoReport, error) {
	d.introduce()
	spec := operators.TaskSpec{Goal: app.DemoGoal, AppLock: app.DemoApps(), MaxAttempts: 1}
	var submitted operators.SubmitReply
	if err := d.client.once(ctx, operators.PathTasks, "", spec, &submitted); err != nil {
		return demoReport{}, err
	}
	if err := d.follow(d.client, submitted.Task.ID); err != nil && !errors.Is(err, errReported) {
		return demoReport{}, err
	}
	report, err := d.report(ctx, submitted.Task.ID)
	if err == nil {
		d.printLog(report)
		report.Bridge, err = d.askBridge(ctx)
	}
	return report, err
}

func (d *demo) introduce() {
	name, _ := d.plan.Named()
	if d.plan.Model != "" {
		name += ", model " + d.plan.Model
	}
	switch {
	case !d.plan.Enabled:
		name = "none: the AI planner is off, so the stub gives up at the first step"
	case name == app.Scripted:
		name += ": a rehearsal without a model"
	}
	transport := "cloud: the host asks the server for each decision and holds no key"
	if !d.plan.Cloud() {
		transport = "direct: the host decides by itself, so the server's log stays empty"
	}
	d.printf("%s\n\n", d.paint(strong, "A server, a host with a simulated phone, and a site in one process"))
	d.fields("server", d.url+", with a scratch database that goes at the end", "provider", name, "transport", transport)
	if d.plan.Enabled && d.plan.Provider == app.Scripted {
		d.printf("\n%s\n", d.paint(faint, "For a real model set ANTHROPIC_API_KEY or OPENAI_API_KEY, and AI_PLANNER_MODEL."))
	}
	d.printf("\n%s %s\n\n", d.paint(strong, "Task:"), app.DemoGoal)
}

// report reads the task and its decisions over the API.
func (d *demo) report(ctx context.Context, id string) (demoReport, error) {
	r := demoReport{Transport: d.plan.Transport, Decisions: []demoDecision{}}
	var k operators.Task
	if err := d.client.get(ctx, operators.TaskPath(id, ""), nil, &k); err != nil {
		return r, err
	}
	decisions, err := d.client.decisions(ctx, id, url.Values{}, operators.MaxPage)
	if err != nil {
		return r, err
	}
	r.Task.ID, r.Task.State = k.ID, k.State
	if k.Result != nil {
		r.Task.Steps, r.Usage = k.Result.Steps, k.Result.Usage
	}
	if r.Provider = planner.StubName; d.plan.Enabled {
		r.Provider, _ = d.plan.Named()
	}
	for _, one := range decisions {
		r.Provider = one.Provider
		r.Decisions = append(r.Decisions, demoDecision{one.StepIndex, one.Tool, one.Arguments})
	}
	return r, nil
}

func (d *demo) printLog(r demoReport) {
	if len(r.Decisions) == 0 {
		d.printf("\nThe server's decision log holds nothing of this task")
		if !d.plan.Cloud() {
			d.printf(", because its host decided directly")
		}
		d.printf(".\n")
	} else {
		d.printf("\n%s\n\n", d.paint(strong, "What the server's decision log holds of it, read back over the API:"))
	}
	for _, one := range r.Decisions {
		d.printf("  %2d  %s  %s\n", one.StepIndex, d.paint(strong, fmt.Sprintf("%-10s", printable(one.Tool))), printable(shorten(string(one.Arguments), 70)))
	}
	d.printf("\nTokens: %s in, %s out", r.Usage.Input, r.Usage.Output)
	if r.Provider == app.Scripted {
		d.printf(" (a script uses none and reports none)")
	}
	d.printf("\n")
}

// stay says what can be done meanwhile, and returns at the first signal.
func (d *demo) stay(ctx context.Context) {
	stopped := make(chan struct{})
	d.onFirstSignal(func() { close(stopped) })
	d.invite()
	select {
	case <-stopped:
	case <-ctx.Done():
	}
}

func (d *demo) invite() {
	program := os.Args[0]
	d.printf("\n%s\n\n", d.paint(strong, "It stays up until Ctrl-C. In another terminal:"))
	d.printf("  export INTERLOCK_SERVER=%s\n  export INTERLOCK_TOKEN=%s\n\n", d.url, d.token.Reveal())
	for _, line := range []string{
		`task submit "` + app.DemoGoal + `" --watch`, "task list", "host list", "call list", "audit list",
	} {
		d.printf("  %s %s\n", program, line)
	}
	d.printf("\n  %s%s  and  %s\n", d.url, operators.PathOpenAPI, d.url+"/metrics")
}

// conclude ends the demo with the report's outcome.
func (p *program) conclude(r demoReport) error {
	if p.json {
		if err := p.printJSON(r); err != nil {
			return err
		}
	}
	if r.Task.State != "succeeded" {
		return errReported
	}
	return nil
}
