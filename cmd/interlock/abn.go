package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"interlock/internal/app"
	"interlock/internal/bridge/abn"
	"interlock/internal/secret"
)

func (p *program) abnCommand() *cobra.Command {
	c := p.group("abn", "Australian Business Numbers: the offline index, and the cache of the register's answers",
		p.abnImport(), p.abnLookup(), p.abnInfo(), p.abnPurge())
	return explained(c, `The Australian Business Register publishes an extract of itself every week. Made
into an index on this machine, it answers look-ups without a GUID and without a
network. import, lookup and info work on that file and ask no server; purge
does.`, `  interlock abn import public_split_1_10.zip public_split_11_20.zip
  interlock abn lookup 51824753556`)
}

// indexCommand is a command about the index file on this machine.
func (p *program) indexCommand(use, short string, args cobra.PositionalArgs, do func(path string, args []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args}
	p.settingFlags(c, forIndex)
	c.Flags().String("index", "", "the index `FILE` [INTERLOCK_ABN_INDEX]")
	c.Flags().Lookup("index").Annotations = map[string][]string{settingOf: {"INTERLOCK_ABN_INDEX"}}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := p.load(c, forIndex); err != nil {
			return err
		}
		return do(p.settings.server.Bridge.ABN.Index, args)
	}
	return c
}

// openIndex opens the index for f and closes it.
func openIndex(path string, f func(*app.ABNIndexFile) error) error {
	index, err := app.OpenABNIndex(path)
	if err != nil {
		return err
	}
	defer index.Close()
	return f(index)
}

func (p *program) abnImport() *cobra.Command {
	parts := app.WholeABNExtract
	c := p.indexCommand("import FILE...", "make the index out of the register's extract", func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError("%s needs the files of an extract; see: %s --help", c.CommandPath(), c.CommandPath())
		}
		return nil
	}, func(path string, files []string) error { return p.importExtract(path, files, parts) })
	c.Flags().IntVar(&parts, "parts", parts, "how many XML files the whole extract has")
	return explained(c, `Download the "ABN Bulk Extract" of the Australian Business Register from
data.gov.au (two zips) and give all its files at once: an index of half of them
would say of the others that they are not registered.

A running server answers from the old index until the new one is whole, and
then from that one, without a restart. An import that is stopped, even by a
kill, goes on where it was when the same command is given again.`, `  interlock abn import public_split_1_10.zip public_split_11_20.zip
  interlock abn import extract.xml --parts 1 --index test.db`)
}

func (p *program) importExtract(path string, files []string, parts int) error {
	if parts < 1 {
		return usageError("--parts must be at least 1")
	}
	if p.settings.found["INTERLOCK_ABN_INDEX"].source == "default" {
		// Where it can't be made, the import says so.
		_ = os.MkdirAll(p.settings.stateDir, 0o700)
	}
	shown := &importProgress{p: p}
	made, err := app.ImportABN(p.ctx, app.ABNImport{Path: path, Files: files, Parts: parts, Progress: shown.show})
	shown.end()
	if err != nil {
		if interrupted(p.ctx) && shown.any {
			p.notef("what was read is kept; the same command goes on from there\n")
		}
		return err
	}
	if p.json {
		return p.printJSON(struct {
			indexLine
			Resumed int64   `json:"records_resumed"`
			Seconds float64 `json:"seconds"`
		}{describe(path, made.Info), made.Resumed, made.Elapsed.Round(time.Millisecond).Seconds()})
	}
	p.printf("imported %s records of the extract of %s in %s\n", grouped(made.Records), extractDay(made.Extracted), made.Elapsed.Round(10*time.Millisecond))
	resumed := ""
	if made.Resumed > 0 {
		resumed = grouped(made.Resumed) + " records had been read before"
	}
	p.fields("index", path, "size", bytesOf(made.Bytes), "resumed", resumed, "left out", leftOut(made.Info))
	return nil
}

// importProgress shows how an import goes: on a terminal in one line that
// changes, elsewhere in a line every few seconds.
type importProgress struct {
	p    *program
	any  bool // something was shown
	last time.Duration
}

// How often progress is shown.
const (
	redrawEvery = 200 * time.Millisecond
	noteEvery   = 5 * time.Second
)

func (i *importProgress) show(now app.ABNProgress) {
	every := noteEvery
	if i.p.errTerminal {
		every = redrawEvery
	}
	if i.any && now.Elapsed-i.last < every {
		return
	}
	i.any, i.last = true, now.Elapsed
	line := progressLine(now)
	if !i.p.errTerminal {
		i.p.notef("%s\n", line)
		return
	}
	width := i.p.outWidth
	if width == 0 {
		width = 80
	}
	i.p.notef("\r\x1b[K%s", shorten(line, width-1))
}

// end gives the line back.
func (i *importProgress) end() {
	if i.any && i.p.errTerminal {
		i.p.notef("\r\x1b[K")
	}
}

func progressLine(now app.ABNProgress) string {
	left := ""
	if d := now.Remaining(); d > 0 {
		left = ", " + d.Round(time.Second).String() + " left"
	}
	return fmt.Sprintf("%3d %%  %s records, %s a second%s  %s", now.Bytes*100/max(1, now.TotalBytes), grouped(now.Records), grouped(int64(now.PerSecond())), left, printable(now.File))
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// extractDay is the day of an extract where the register is.
func extractDay(t time.Time) string {
	return t.In(time.FixedZone("", 10*60*60)).Format(time.DateOnly)
}

// leftOut says which records an index does not hold.
func leftOut(i app.ABNIndexInfo) string {
	var words []string
	if i.Unaskable > 0 {
		words = append(words, grouped(i.Unaskable)+" whose number fails the checksum")
	}
	if i.Superseded > 0 {
		words = append(words, grouped(i.Superseded)+" that another record of the same number replaces")
	}
	return strings.Join(words, ", ")
}

func (p *program) abnLookup() *cobra.Command {
	c := p.indexCommand("lookup ABN", "ask the index on this machine", arguments("an ABN"), func(path string, args []string) error {
		n, err := abn.Parse(args[0])
		if err != nil {
			return err
		}
		return openIndex(path, func(index *app.ABNIndexFile) error { return p.lookUp(index, n) })
	})
	return explained(c, `Says what the extract has about one ABN, as of the extract's day. An ABN that is
cancelled is an answer too; one that the extract does not have ends with exit
code 4. With --json the answer is what a site gets from the gateway.`, `  interlock abn lookup 51824753556
  interlock abn lookup 51824753556 --json`)
}

func (p *program) lookUp(index *app.ABNIndexFile, n abn.Number) error {
	if _, err := index.Info(p.ctx); err != nil {
		return err // in an operator's words; a look-up's are for sites
	}
	r, from, found, err := index.Lookup(p.ctx, n, secret.String{})
	if err != nil {
		return err
	}
	if p.json {
		if err := p.printAnswer(index, n); err != nil {
			return err
		}
	} else {
		p.printRecord(n, r, from, found)
	}
	if !found {
		return reported(exitNotFound)
	}
	return nil
}

// printAnswer prints what the app answers to a site.
func (p *program) printAnswer(index abn.Source, n abn.Number) error {
	arguments, err := json.Marshal(struct {
		ABN string `json:"abn"`
	}{n.String()})
	if err != nil {
		return fmt.Errorf("encode arguments: %w", err)
	}
	answer, err := abn.NewApp(index).Invoke(p.ctx, abn.Operation, arguments, secret.String{})
	if err != nil {
		return err
	}
	return p.printJSON(jsontext.Value(answer))
}

func (p *program) printRecord(n abn.Number, r abn.Record, from abn.Provenance, found bool) {
	extract := "the extract of " + extractDay(from.AsOf)
	if !found {
		p.printf("no record of %s in %s\n", n.Spaced(), extract)
		return
	}
	status := r.Status
	if r.StatusFrom != "" {
		status += " since " + r.StatusFrom
	}
	gst := "not registered"
	if r.GSTFrom != "" {
		gst = "registered since " + r.GSTFrom
	}
	kind := r.TypeName
	if r.TypeCode != "" {
		kind += " (" + r.TypeCode + ")"
	}
	p.fields("ABN", n.Spaced(), "status", status, "name", r.Name, "type", strings.TrimSpace(kind), "ACN", r.ACN, "GST", gst,
		"place", strings.TrimSpace(r.State+" "+r.Postcode))
	label := "names"
	for _, name := range r.Names {
		p.printf("%-10s %s\n", label, printable(name))
		label = ""
	}
	p.fields("as of", extract)
}

func (p *program) abnInfo() *cobra.Command {
	c := p.indexCommand("info", "describe the index on this machine", arguments(), func(path string, _ []string) error {
		return openIndex(path, func(index *app.ABNIndexFile) error {
			info, err := index.Info(p.ctx)
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(describe(path, info))
			}
			p.fields("index", path, "extract", extractDay(info.Extracted), "imported", when(info.Imported), "records", grouped(info.Records),
				"left out", leftOut(info), "size", bytesOf(info.Bytes), "made of", count(len(info.Parts), "XML file"))
			return nil
		})
	})
	return explained(c, `Says of which day the extract is, how many records the index holds and how large
it is. With --json also which files it was made of.`, `  interlock abn info
  interlock abn info --json`)
}

// indexLine is an index as --json prints it.
type indexLine struct {
	Index      string      `json:"index"`
	Extracted  time.Time   `json:"extracted_at"`
	Imported   time.Time   `json:"imported_at"`
	Records    int64       `json:"records"`
	Unaskable  int64       `json:"left_out_checksum"`
	Superseded int64       `json:"left_out_superseded"`
	Bytes      int64       `json:"bytes"`
	Parts      []indexPart `json:"parts"`
}

type indexPart struct {
	Source   string `json:"source"`
	File     string `json:"file"`
	Sequence int    `json:"sequence"`
	Records  int64  `json:"records"`
}

func describe(path string, i app.ABNIndexInfo) indexLine {
	line := indexLine{Index: path, Extracted: i.Extracted, Imported: i.Imported, Records: i.Records, Unaskable: i.Unaskable, Superseded: i.Superseded, Bytes: i.Bytes, Parts: []indexPart{}}
	for _, part := range i.Parts {
		line.Parts = append(line.Parts, indexPart(part))
	}
	return line
}
