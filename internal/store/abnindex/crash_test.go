package abnindex

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"interlock/internal/store/abnindex/abnextract"
)

// importVariable makes this test program a process that imports into the index
// that it names; its arguments are the files.
const importVariable = "INTERLOCK_TEST_IMPORT_INDEX"

// sizeVariable is how many records are imported while the process is killed
// again and again.
const sizeVariable = "INTERLOCK_TEST_IMPORT_RECORDS"

// killedParts is how many XML files those are in.
const killedParts = 4

// maxMemory is what an import may take, in bytes, however many records it has.
const maxMemory = 200 << 20

func TestMain(m *testing.M) {
	if path := os.Getenv(importVariable); path != "" {
		if err := importAloud(path, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// importAloud prints how many records have been stored after each batch, and
// in the end "done", how many there are and how many an earlier start read.
func importAloud(path string, files []string) error {
	made, err := Import(context.Background(), ImportConfig{Path: path, Files: files, Parts: killedParts,
		Progress: func(p Progress) { fmt.Println("stored", p.Records, p.Resumed) }})
	if err == nil {
		fmt.Println("done", made.Records, made.Resumed)
	}
	return err
}

// spoken is one line of such a process.
type spoken struct {
	word             string
	records, resumed int64
}

// importUntilKilled runs the process and kills it once it has stored some
// batches, and returns what it said last, and the memory that it took.
func importUntilKilled(t *testing.T, path string, files []string, batches int) (last spoken, memory int64) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, files...)
	cmd.Env = append(os.Environ(), importVariable+"="+path)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for said := 1; ; said++ {
		line, err := lines.ReadString('\n')
		if err != nil { // killed, or done
			break
		}
		if _, err := fmt.Sscan(line, &last.word, &last.records, &last.resumed); err != nil {
			t.Errorf("the process says: %s", line)
		}
		if said == batches {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	io.Copy(io.Discard, lines)
	cmd.Wait() // the lines say how it ended
	if complaints.Len() > 0 {
		t.Fatalf("the process complains: %s", complaints.String())
	}
	return last, peakMemory(cmd.ProcessState)
}

func killedRecords(t *testing.T) int {
	t.Helper()
	text := os.Getenv(sizeVariable)
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s is no number", sizeVariable, text)
	}
	return n
}

// R-BRIDGE-8: an import that is killed at any moment goes on where it was, in
// bounded memory, and no record is lost, read twice or changed.
func TestAnImportThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	e := abnextract.Extract{Seed: 7, Records: killedRecords(t), Parts: killedParts, At: written}
	files, path := zips(t, e), filepath.Join(t.TempDir(), "abn.db")
	kills, stored, peak := 0, int64(0), int64(0)
	last := spoken{}
	for last.word != "done" {
		batches := 1 + rand.IntN(1+e.Records/100_000)
		if kills == 4 {
			batches = e.Records // enough
		}
		var memory int64
		last, memory = importUntilKilled(t, path, files, batches)
		switch {
		case last.word == "":
			t.Fatal("the process said nothing")
		case last.resumed < stored:
			t.Fatalf("%d records were stored, and the next process goes on with %d", stored, last.resumed)
		case last.word == "stored":
			kills++
			stored = last.records
		}
		peak = max(peak, memory)
	}
	if kills == 0 || last.records != int64(e.Records) || last.resumed == 0 {
		t.Errorf("%d kills, then %+v, want all %d records, some of them from before", kills, last, e.Records)
	}
	if peak > maxMemory {
		t.Errorf("a process took %d MB, want at most %d", peak>>20, maxMemory>>20)
	}
	x := opened(t, path)
	for _, n := range e.Numbers() {
		wantRecord(t, x, n, e.Record(n))
	}
	if left, _ := filepath.Glob(path + ".next*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	t.Logf("%d kills; a process took at most %d MB", kills, peak>>20)
}
