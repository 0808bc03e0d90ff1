package abnindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

// Index answers look-ups from an index file. It implements abn.Source and is
// safe for concurrent use.
type Index struct {
	path string
	now  func() time.Time

	looked atomic.Int64 // when the path was last looked at, in nanoseconds of now
	mu     sync.RWMutex
	// current is what answers, nil while there is no file. Who uses it holds
	// mu for reading, who replaces it for writing.
	current *generation
	why     error // there is none; guarded by mu
	closed  bool  // guarded by mu
}

// lookEvery is how often a look-up asks whether the file was replaced.
const lookEvery = time.Second

// Open opens the index at the path. A file that is not there yet is no error:
// look-ups are refused until an import has made it, and Info says so. A file
// that is no index is. The caller closes the index.
func Open(path string) (*Index, error) {
	x := &Index{path: path, now: time.Now}
	x.looked.Store(x.now().UnixNano())
	g, err := openGeneration(path)
	if err != nil && !errors.Is(err, ErrMissing) {
		return nil, named("open the index", err)
	}
	x.current, x.why = g, err
	return x, nil
}

// Close closes the file. Look-ups after it fail.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	return x.replace(nil, errors.New("the index is closed"))
}

// replace takes another generation, or none and why. The caller holds mu.
func (x *Index) replace(g *generation, why error) error {
	old := x.current
	x.current, x.why = g, why
	if old == nil {
		return nil
	}
	return old.close()
}

// NeedsCredential is false: the extract is public.
func (x *Index) NeedsCredential() bool { return false }

// errUnavailable says that there is no answer; the cause is for operators.
var errUnavailable = fault.New(fault.Unavailable, "upstream_unavailable", "the index of the Australian Business Register can't be asked now; an operator finds the cause in the log").Retry(0)

// errReplaced: the extract does not say by which number.
var errReplaced = errors.New("the register has given the entity another number, and its extract does not say which")

// Lookup returns the extract's record of n. That there is none is an answer as
// of the extract's time, the provenance's AsOf. Any failure is
// upstream_unavailable, but for the end of ctx.
func (x *Index) Lookup(ctx context.Context, n abn.Number, _ secret.String) (abn.Record, abn.Provenance, bool, error) {
	var r abn.Record
	var p abn.Provenance
	found := false
	err := x.use(func(g *generation) (err error) {
		p = abn.Provenance{Source: "index", AsOf: g.extracted}
		r, found, err = g.lookup(ctx, n)
		return err
	})
	switch {
	case err == nil:
		return r, p, found, nil
	case ctx.Err() != nil:
		return abn.Record{}, abn.Provenance{}, false, ctx.Err()
	}
	return abn.Record{}, abn.Provenance{}, false, errUnavailable.Because(err)
}

// Info describes the index that answers now. Its faults are ErrMissing,
// ErrNotIndex, ErrForm and others that say what an operator can do.
func (x *Index) Info(ctx context.Context) (Info, error) {
	var info Info
	err := x.use(func(g *generation) (err error) {
		info, err = g.info(ctx)
		return err
	})
	return info, named("describe the index", err)
}

// use calls f with what answers now.
func (x *Index) use(f func(*generation) error) error {
	if now := x.now().UnixNano(); x.due(now) {
		x.refresh()
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.current == nil {
		return x.why
	}
	return f(x.current)
}

// due reports whether the caller is to look at the path, which one of many does.
func (x *Index) due(now int64) bool {
	last := x.looked.Load()
	passed := time.Duration(now - last)
	return (passed >= lookEvery || passed < 0) && x.looked.CompareAndSwap(last, now)
}

// refresh takes the file that is at the path now. One that can't be opened
// leaves the old one where it is; one that was removed does not.
func (x *Index) refresh() {
	there, err := os.Stat(x.path)
	x.mu.RLock()
	same := err == nil && x.current != nil && os.SameFile(there, x.current.file)
	x.mu.RUnlock()
	if same {
		return
	}
	g, err := openGeneration(x.path)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed && g != nil:
		g.close()
	case x.closed, err != nil && !errors.Is(err, ErrMissing) && x.current != nil:
	default:
		x.replace(g, err) // what could fail is the closing of a file that was only read
	}
}

// generation is one index file. It is opened as immutable: an import replaces
// the file and never changes one, so the engine needs neither locks nor a look
// for a journal, each of which would cost a look-up a call into the system.
type generation struct {
	db        *sql.DB
	find      *sql.Stmt
	file      os.FileInfo
	extracted time.Time // the oldest time of its files
	types     map[int64]entityType
}

func openGeneration(path string) (*generation, error) {
	file, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrMissing.Because(err)
	case err != nil:
		return nil, ErrPlace.Because(err)
	case !file.Mode().IsRegular():
		return nil, ErrNotIndex
	}
	db, err := openFile(path, url.Values{"mode": {"ro"}, "immutable": {"1"}}, "query_only(1)", "cache_size(-8192)")
	if err != nil {
		return nil, err
	}
	n := 2 + runtime.GOMAXPROCS(0)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	g := &generation{db: db, file: file}
	if err := g.load(); err != nil {
		db.Close()
		return nil, named("open the index", err)
	}
	return g, nil
}

func (g *generation) load() error {
	ctx := context.Background()
	if err := checkForm(g.db); err != nil {
		return err
	}
	var finished int
	var extracted int64
	if err := g.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM finished), (SELECT coalesce(min(extracted), 0) FROM part)").Scan(&finished, &extracted); err != nil {
		return err
	}
	if finished != 1 {
		return ErrNotIndex.Because(errors.New("its import has not ended"))
	}
	g.extracted = time.Unix(extracted, 0).UTC()
	var err error
	if g.types, err = readTypes(ctx, g.db); err != nil {
		return err
	}
	g.find, err = g.db.PrepareContext(ctx, "SELECT status, since, gst, acn, replaced, type, name, state, postcode, names FROM record WHERE abn = ?")
	return err
}

func (g *generation) close() error { return g.db.Close() }

// readTypes returns the types of entities by the number under which they are
// kept.
func readTypes(ctx context.Context, db *sql.DB) (map[int64]entityType, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, code, name FROM entity_type LIMIT ?", maxTypes)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types := map[int64]entityType{}
	for rows.Next() {
		var id int64
		var t entityType
		if err := rows.Scan(&id, &t.code, &t.name); err != nil {
			return nil, err
		}
		types[id] = t
	}
	return types, rows.Err()
}

func (g *generation) lookup(ctx context.Context, n abn.Number) (abn.Record, bool, error) {
	number, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		return abn.Record{}, false, fmt.Errorf("look up: %w", err)
	}
	var r record
	var typeID int64
	err = g.find.QueryRowContext(ctx, number).Scan(&r.status, &r.since, &r.gst, &r.acn, &r.replaced, &typeID, &r.name, &r.state, &r.postcode, &r.otherNames)
	switch t, known := g.types[typeID]; {
	case errors.Is(err, sql.ErrNoRows):
		return abn.Record{}, false, nil
	case err != nil:
		return abn.Record{}, false, named("look up", err)
	case !known || int(r.status) >= len(statusNames):
		return abn.Record{}, false, ErrNotIndex
	case r.replaced && r.status == active:
		return abn.Record{}, false, errReplaced
	default:
		r.typeCode, r.typeName = t.code, t.name
	}
	return r.public(n), true, nil
}

// public is the record as the domain has it.
func (r record) public(n abn.Number) abn.Record {
	out := abn.Record{ABN: n, Status: statusNames[r.status], StatusFrom: dateText(r.since), Name: r.name, TypeCode: r.typeCode, TypeName: r.typeName,
		GSTFrom: dateText(r.gst), State: r.state, Postcode: r.postcode}
	switch {
	case r.acn == sameACN:
		out.ACN = n.String()[abn.Digits-acnDigits:]
	case r.acn != 0:
		out.ACN = fmt.Sprintf("%0*d", acnDigits, r.acn)
	}
	if r.otherNames != "" {
		out.Names = strings.Split(r.otherNames, "\n")
	}
	return out
}

// dateText writes YYYYMMDD as YYYY-MM-DD.
func dateText(n int32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", n/10000, n/100%100, n%100)
}
