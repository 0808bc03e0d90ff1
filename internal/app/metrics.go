package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
)

// register adds what the rooms count, and what the process uses.
func (r *rooms) register(to prometheus.Registerer, log *slog.Logger) {
	to.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), roomsCollector{r, log})
}

// roomsCollector reads the rooms' own counters when it is asked, so that no
// room knows of a metrics library. It tells no id, name or text.
type roomsCollector struct {
	rooms *rooms
	log   *slog.Logger
}

// scrapeTime bounds what a scrape reads from the store.
const scrapeTime = 5 * time.Second

// describe makes the description of one metric.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("interlock_"+name, help, labels, nil)
}

var (
	heldPolls   = describe("polls_held", "Polls of hosts that are held now.")
	submitted   = describe("tasks_submitted_total", "Tasks submitted.")
	changes     = describe("task_changes_total", "Changes of tasks into a state.", "state")
	claimed     = describe("attempts_claimed_total", "Attempts given to hosts.")
	vanished    = describe("attempts_vanished_total", "Claims given back because the host had gone.")
	reaped      = describe("tasks_reaped_total", "Leases and waits that ended by the clock.")
	reapFailed  = describe("reap_failures_total", "Rounds of the reaper that failed.")
	decides     = describe("decides_total", "Decides by outcome: decided, replayed, or why there was no decision.", "outcome")
	inFlight    = describe("decides_in_flight", "Decides that run now.")
	logRows     = describe("decision_log_rows", "Decisions in the log.")
	logBytes    = describe("decision_log_bytes", "Stored size of the log, compressed.")
	logMaxBytes = describe("decision_log_max_bytes", "Size that the log may reach; 0: no limit.")
	pruned      = describe("decisions_pruned_total", "Decisions that retention removed.")
	pruneFailed = describe("prune_failures_total", "Rounds of retention that failed.")
	calls       = describe("site_calls_total", "Calls of sites through the gateway, by verdict.", "verdict")
	resolutions = describe("resolutions_total", "Instructions of sites, by outcome: resolved, or why not.", "outcome")
	pruneLag    = describe("prune_lag_seconds", "For how long decisions have been overdue for removal.")
)

// Describe implements prometheus.Collector.
func (roomsCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{heldPolls, submitted, changes, claimed, vanished, reaped, reapFailed, decides, inFlight,
		logRows, logBytes, logMaxBytes, pruned, pruneFailed, pruneLag, calls, resolutions} {
		to <- d
	}
}

// Collect implements prometheus.Collector. What the store can't tell is left out.
func (c roomsCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	collectTasks(to, c.rooms.tasks.Stats())
	for verdict, n := range c.rooms.bridge.gateway.Outcomes() {
		counter(to, calls, n, verdict)
	}
	for outcome, n := range c.rooms.bridge.resolver.Outcomes() {
		counter(to, resolutions, n, outcome)
	}
	st, err := c.rooms.decisions.Stats(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "the decision log's size is not to be had", "error", err)
		return
	}
	collectDecisions(to, st)
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
}

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, v int64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func collectTasks(to chan<- prometheus.Metric, st task.Stats) {
	gauge(to, heldPolls, float64(st.HeldPolls))
	counter(to, submitted, st.Submitted)
	for state, n := range st.Changes {
		counter(to, changes, n, string(state))
	}
	counter(to, claimed, st.Claimed)
	counter(to, vanished, st.Vanished)
	counter(to, reaped, st.Reaped)
	counter(to, reapFailed, st.ReapFailed)
}

func collectDecisions(to chan<- prometheus.Metric, st decision.Stats) {
	for outcome, n := range st.Outcomes {
		counter(to, decides, n, outcome)
	}
	gauge(to, inFlight, float64(st.InFlight))
	gauge(to, logRows, float64(st.Log.Rows))
	gauge(to, logBytes, float64(st.Log.Bytes))
	gauge(to, logMaxBytes, float64(st.MaxBytes))
	counter(to, pruned, st.Pruned)
	counter(to, pruneFailed, st.PruneFailed)
	gauge(to, pruneLag, st.PruneLag.Seconds())
}
