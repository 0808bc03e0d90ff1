// The bench measures the whole against baselines in the same run, on loopback:
// decisions through the control plane beside a bare reverse proxy, idle hosts,
// the way from submit to claim, requests of sites, look-ups in the offline
// index, and what a decision weighs on disk. It prints
// a row a figure, with the bar that docs/PERFORMANCE.md sets for it. Rooms
// measure themselves with Go benchmarks; "make bench" runs both.
//
// Usage: bench [-short] [-profile FILE] [section ...]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"time"
)

// section is one group of figures.
type section struct {
	name string
	run  func(ctx context.Context, b *bench) error
}

var sections = []section{{"decide", decides}, {"claim", claims}, {"polls", polls}, {"sites", sites}, {"abn", lookups}, {"disk", disk}}

// bench is one run.
type bench struct {
	load    time.Duration // of each load
	idle    int           // hosts in the idle section
	records int           // in the offline index of ABNs
	profile string        // path of the CPU profile; "": none
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childServer {
		serveChild()
		return
	}
	short := flag.Bool("short", false, "shorter loads: to see that the bench works, not how fast anything is")
	profile := flag.String("profile", "", "write a CPU profile of the whole run to this file, and what the idle server holds beside it")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(2)
		}
		defer pprof.StopCPUProfile()
	}
	b := &bench{load: 10 * time.Second, idle: 10_000, records: 1_000_000, profile: *profile}
	if *short {
		b.load, b.idle, b.records = time.Second, 500, 20_000
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, s := range sections {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), s.name) {
			continue
		}
		fmt.Printf("\n%s\n", s.name)
		if err := s.run(ctx, b); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.name, err)
			os.Exit(1)
		}
	}
}

// row prints one figure, with its bar and whether it holds ("" for a figure
// that has none).
func row(what, measured, bar string, holds bool) {
	verdict := ""
	switch {
	case bar == "":
	case holds:
		verdict = "holds: " + bar
	default:
		verdict = "MISSES: " + bar
	}
	fmt.Printf("  %-58s %-44s %s\n", what, measured, verdict)
}

// speedRow prints a load's speed, without a bar.
func speedRow(what string, s speed) {
	measured := fmt.Sprintf("%.0f/s  p50 %v  p99 %v", s.perSecond, s.p50.Round(10*time.Microsecond), s.p99.Round(10*time.Microsecond))
	if s.errors > 0 {
		measured += fmt.Sprintf("  %d errors, first: %v", s.errors, s.firstError)
	}
	row(what, measured, "", true)
}
