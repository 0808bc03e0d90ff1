package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) statusCommand() *cobra.Command {
	return p.operatorCommand("status", "show how the control plane stands", arguments(), func(cl *client, _ []string) error {
		var s operators.Status
		if err := cl.get(p.ctx, operators.PathStatus, nil, &s); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(s)
		}
		p.printStatus(s)
		return nil
	})
}

func (p *program) printStatus(s operators.Status) {
	planner := "not configured: decides are refused"
	if s.Planner.Configured {
		planner = strings.TrimSpace(s.Planner.Provider+" "+s.Planner.Model) + fmt.Sprintf(", %d in flight", s.Planner.InFlight)
	}
	log := fmt.Sprintf("%s, %s, kept for %s", count(int(s.Log.Decisions), "decision"), bytesOf(s.Log.Bytes), days(s.Log.RetentionSeconds))
	if s.Log.MaxBytes > 0 {
		log += fmt.Sprintf(", %d %% of %s", s.Log.Bytes*100/s.Log.MaxBytes, bytesOf(s.Log.MaxBytes))
	}
	stop := ""
	if s.Stop.On {
		stop = "all decides are refused until: interlock usage resume"
		if s.Stop.Reason != "" {
			stop += " (" + s.Stop.Reason + ")"
		}
	}
	p.fields("version", s.Version, "tasks", tally(s.Tasks), "hosts", tally(s.Hosts), "planner", planner, "log", log, "stopped", stop)
	if !s.Log.NextPruneAt.IsZero() {
		p.fields("next prune", when(s.Log.NextPruneAt))
	}
}

// tally is "2 running, 1 queued", by name.
func tally(counts map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[name], name))
		}
	}
	return orDash(strings.Join(words, ", "))
}

// bytesOf writes a size with the unit that suits it.
func bytesOf(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return count(int(n), "byte")
}

// days writes a time in days where it is whole ones.
func days(seconds int64) string {
	if d := time.Duration(seconds) * time.Second; d%(24*time.Hour) != 0 || d == 0 {
		return d.String()
	}
	return count(int(seconds/86400), "day")
}
