package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"interlock/internal/secret"
	"interlock/internal/store/abnindex"
	"interlock/internal/store/abnindex/abnextract"
)

// lookups measures the offline index of ABNs: how fast an extract is imported,
// how large it is, and look-ups in no order from several askers.
func lookups(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "interlock-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	extract := abnextract.Extract{Seed: 1, Records: b.records, Parts: abnindex.WholeExtract, At: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	files, err := extract.WriteZips(dir, 2)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "abn.db")
	start := time.Now()
	made, err := abnindex.Import(ctx, abnindex.ImportConfig{Path: path, Files: files})
	if err != nil {
		return err
	}
	took := time.Since(start)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("import of %d records", made.Records), fmt.Sprintf("%.1f s, %.0f records/s, %.0f bytes a record", took.Seconds(), float64(made.Records)/took.Seconds(), float64(info.Size())/float64(made.Records)), "", true)
	index, err := abnindex.Open(path)
	if err != nil {
		return err
	}
	defer index.Close()
	numbers := extract.Numbers()
	for _, askers := range []int{1, 8} {
		s := load(ctx, askers, b.load/4, func(ctx context.Context, _ int) error {
			_, _, found, err := index.Lookup(ctx, numbers[rand.IntN(len(numbers))], secret.String{})
			if err == nil && !found {
				err = fmt.Errorf("a record is missing")
			}
			return err
		})
		if s.errors > 0 {
			return s.firstError
		}
		speedRow(fmt.Sprintf("%d askers: look-ups", askers), s)
		row(fmt.Sprintf("%d askers: p99 of a look-up", askers), s.p99.String(), "at most 1 ms", s.p99 <= time.Millisecond)
	}
	return nil
}
