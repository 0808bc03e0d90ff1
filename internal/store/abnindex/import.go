package abnindex

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"interlock/internal/fault"
	"interlock/internal/filelock"
)

// WholeExtract is how many XML files the register's extract has, in its two
// zips together.
const WholeExtract = 20

// ImportConfig says what becomes the index.
type ImportConfig struct {
	// Path of the index. Its folder must exist; what grows before it takes its
	// place is beside it, with ".next" behind the name.
	Path string
	// Files are the zips, or XML files, of one extract: all of it.
	Files []string
	// Parts is how many XML files there must be in them; zero: WholeExtract. An
	// index of half a register would say of the other half that it is not
	// registered.
	Parts int
	// Progress is called after each batch that is on the disk, by one goroutine
	// that waits for it; nil: nobody wants to know.
	Progress func(Progress)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Progress is how far an import has come.
type Progress struct {
	File       string // that is being read: the source and, in a zip, the file inside
	Bytes      int64  // of the files given, read so far
	TotalBytes int64
	Records    int64 // read so far
	Resumed    int64 // of them, those that an earlier start of this import had read
	Elapsed    time.Duration

	resumedBytes int64
}

// PerSecond is how many records this start reads in a second.
func (p Progress) PerSecond() float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return float64(p.Records-p.Resumed) / p.Elapsed.Seconds()
}

// Remaining is how long the rest takes if it goes on like this; zero: not
// known yet.
func (p Progress) Remaining() time.Duration {
	done := p.Bytes - p.resumedBytes
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(p.Elapsed) * float64(p.TotalBytes-p.Bytes) / float64(done))
}

// Imported is what an import made.
type Imported struct {
	Info
	Resumed int64 // of the records read, those that an earlier start had read
	Elapsed time.Duration
}

// maxSpread is how far apart the times of one extract's files may be.
const maxSpread = 48 * time.Hour

// Import makes an index out of an extract, or goes on with an import of the
// same files that was stopped, even by a kill: what was read then is not
// stored again. It blocks until the index is in its place, which takes minutes
// for the whole register. The old index answers until then, and stays if the
// import fails.
//
// Its faults are abn_extract, for files that are no whole and sound extract
// (the sentence names file and record), and those of this package. What a
// stopped import had read is kept; what one that was refused had read is not.
func Import(ctx context.Context, cfg ImportConfig) (Imported, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Parts == 0 {
		cfg.Parts = WholeExtract
	}
	i := &importer{ImportConfig: cfg, began: cfg.Now()}
	defer i.close()
	if err := i.openSources(); err != nil {
		return Imported{}, err
	}
	path, err := place(cfg.Path)
	if err != nil {
		return Imported{}, named("find the index", err)
	}
	lock, err := filelock.Take(path + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		return Imported{}, ErrBusy
	}
	if err != nil {
		return Imported{}, named("lock the index", err)
	}
	defer lock.Release()
	return i.run(ctx, path)
}

// place resolves the path and refuses to replace what is no index.
func place(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, filepath.Base(path))
	g, err := openGeneration(path)
	switch {
	case errors.Is(err, ErrMissing), errors.Is(err, ErrForm):
		return path, nil
	case err != nil:
		return "", err
	}
	return path, g.close()
}

// importer is one run of Import.
type importer struct {
	ImportConfig
	began   time.Time
	sources []*source
	work    []work // each XML file, in order
	builder *builder

	resumed, resumedBytes, totalBytes int64
}

// work is one XML file that is to be read.
type work struct {
	source *source
	partFile
	before int64 // bytes of all files before it
}

func (w work) String() string {
	if w.name == w.source.name {
		return w.name
	}
	return w.source.name + ": " + w.name
}

func (i *importer) close() {
	for _, s := range i.sources {
		s.close()
	}
}

func (i *importer) openSources() error {
	if len(i.Files) == 0 {
		return extractError("no file of an extract was given")
	}
	for _, path := range i.Files {
		s, err := openSource(path)
		if err != nil {
			return err
		}
		i.sources = append(i.sources, s)
		for _, p := range s.parts {
			i.work = append(i.work, work{s, p, i.totalBytes})
			i.totalBytes += p.bytes
		}
	}
	if len(i.work) != i.Parts {
		return extractError("the extract has %d XML files and these hold %d: give all of its zips in one command, such as public_split_1_10.zip public_split_11_20.zip", i.Parts, len(i.work))
	}
	return nil
}

func (i *importer) run(ctx context.Context, path string) (Imported, error) {
	next := path + ".next"
	b, err := openBuilder(ctx, next, i.sources)
	if err != nil {
		return Imported{}, named("begin the index", err)
	}
	i.builder = b
	i.countResumed()
	err = i.fill(ctx)
	if err == nil {
		err = b.finish(ctx, i.Now())
	}
	if err != nil {
		b.close()
		if spoilt(err) {
			err = errors.Join(err, removeFile(next))
		}
		return Imported{}, named("build the index", err)
	}
	if err := b.takePlace(path, filepath.Dir(path)); err != nil {
		return Imported{}, named("put the index in its place", err)
	}
	return i.imported(path)
}

// spoilt reports whether the same import would fail again at the same place.
func spoilt(err error) bool {
	return errors.Is(err, errCount) || errors.Is(err, errExtract)
}

func (i *importer) imported(path string) (Imported, error) {
	index, err := Open(path)
	if err != nil {
		return Imported{}, err
	}
	defer index.Close()
	info, err := index.Info(context.Background())
	return Imported{Info: info, Resumed: i.resumed, Elapsed: i.Now().Sub(i.began)}, err
}

func (i *importer) countResumed() {
	for n, m := range i.builder.parts {
		i.resumed += m.read
		if m.done {
			i.resumedBytes += i.work[n].bytes
		}
	}
}

// fill reads and stores at the same time: each takes about a processor.
func (i *importer) fill(ctx context.Context) error {
	batches := make(chan batch, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		return i.read(ctx, batches)
	})
	g.Go(func() error { return i.write(ctx, batches) })
	return g.Wait()
}

// read sends what is not stored yet.
func (i *importer) read(ctx context.Context, out chan<- batch) error {
	marks := append([]partMark(nil), i.builder.parts...) // the builder changes its own
	for n, w := range i.work {
		if marks[n].done {
			continue
		}
		if err := w.each(ctx, n, marks[n], out); err != nil {
			return err
		}
	}
	return nil
}

// write stores what comes.
func (i *importer) write(ctx context.Context, in <-chan batch) error {
	records := i.resumed
	for c := range in {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := i.checkSpread(c); err != nil {
			return err
		}
		before := i.builder.parts[c.part].read
		if err := i.builder.store(c); err != nil {
			return err
		}
		records += c.read - before
		if i.Progress != nil {
			i.Progress(Progress{File: i.work[c.part].String(), Bytes: c.bytes, TotalBytes: i.totalBytes, Records: records,
				Resumed: i.resumed, Elapsed: i.Now().Sub(i.began), resumedBytes: i.resumedBytes})
		}
	}
	return ctx.Err()
}

// checkSpread refuses files of different weeks: an ABN may then be in neither.
func (i *importer) checkSpread(c batch) error {
	for n, m := range i.builder.parts {
		if n != c.part && m.read > 0 && m.extracted.Sub(c.header.extracted).Abs() > maxSpread {
			return extractError("%s was extracted on %s and %s on %s: give files of the same week", i.work[n], day(m.extracted), i.work[c.part], day(c.header.extracted))
		}
	}
	return nil
}

func day(t time.Time) string { return t.In(registersZone).Format(time.DateOnly) }

// The size of a batch: how much a kill may cost, and how much waits in memory.
const (
	batchRecords = 20_000
	batchBytes   = 8 << 20 // of names, which are nearly all there is
)

// maxUnaskable is how many records of one file may fail the checksum before it
// is taken for something else.
const maxUnaskable = 1000

// each reads one XML file and sends what comes after the mark.
func (w work) each(ctx context.Context, n int, mark partMark, out chan<- batch) error {
	f, err := w.open()
	if err != nil {
		return w.refuse(0, err)
	}
	defer f.Close()
	w.source.read.Store(0)
	p := newPart(f)
	c := batch{part: n}
	if c.header, err = p.header(); err != nil {
		return w.refuse(0, err)
	}
	send := func() error {
		c.read, c.bytes = p.read, w.before+min(w.source.read.Load(), w.bytes)
		select {
		case out <- c:
			c.records = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	size := 0
	for {
		r, err := p.next()
		switch {
		case errors.Is(err, io.EOF):
			if p.read != c.header.records {
				return extractError("%s holds %d records and says that it has %d; download it again", w, p.read, c.header.records)
			}
			c.done = true
			return send()
		case errors.Is(err, errUnaskable):
			if c.unaskable++; c.unaskable > maxUnaskable {
				return w.refuse(p.read, errors.New("too many numbers fail the checksum; it is no extract of the register"))
			}
		case err != nil:
			return w.refuse(p.read, err)
		case p.read > mark.read:
			c.records = append(c.records, r)
			size += len(r.name) + len(r.otherNames)
		}
		if p.read > c.header.records {
			return extractError("%s holds more records than the %d that it says it has; download it again", w, c.header.records)
		}
		if len(c.records) == batchRecords || size >= batchBytes {
			if err := send(); err != nil {
				return err
			}
			size = 0
		}
	}
}

// refuse says where in the extract something is wrong.
func (w work) refuse(record int64, err error) error {
	var refused *fault.Error
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &refused):
		return err
	case errors.Is(err, zip.ErrAlgorithm):
		return extractError("%s is packed in a way that this program can't unpack; pack it again with deflate", w)
	case errors.Is(err, errDamaged), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat), errors.As(err, &corrupt):
		return extractError("%s, behind record %d: %s", w, record, errDamaged).Because(err)
	case isFileError(err):
		return extractError("%s can't be read to its end", w).Because(err)
	case record == 0:
		return extractError("%s: %s", w, err)
	}
	return extractError("%s, record %d: %s", w, record, err)
}

func isFileError(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e) || errors.Is(err, os.ErrClosed)
}

func decimal(n int) string { return strconv.Itoa(n) }
