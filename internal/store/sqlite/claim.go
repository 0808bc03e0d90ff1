package sqlite

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

// replayFor is how long the answer to a claim can be asked for again.
const replayFor = time.Minute

// Claim implements task.Store. A host that is revoked gets nothing.
func (s *Store) Claim(ctx context.Context, tm task.Timing, reqs []task.ClaimRequest) ([][]task.Task, error) {
	out, err := written(ctx, s, control, func(t *tx) ([][]task.Task, error) {
		c := claim{tx: t, timing: tm, reqs: reqs, given: make([][]task.Task, len(reqs)), again: make([]bool, len(reqs))}
		return c.given, c.serve()
	})
	return out, during("claim tasks", err)
}

// claim is one call of Claim.
type claim struct {
	*tx
	timing task.Timing
	reqs   []task.ClaimRequest
	given  [][]task.Task // answer i for request i
	again  []bool        // answer i was given before
}

func (c *claim) serve() error {
	places, err := c.places()
	if err != nil || len(places) == 0 {
		return err
	}
	if _, err := c.exec(`UPDATE task SET ready = 1 WHERE state = 'queued' AND ready = 0 AND next_run <= ?`, c.wall); err != nil {
		return err
	}
	var lines queues
	for _, of := range tenants(places) {
		err := c.each(distinctSelectors, []any{of, of}, func(scan scan) error {
			q := &queue{tenant: of}
			if err := scan(&q.selector); err != nil {
				return err
			}
			var sel task.Selector
			if err := parse(q.selector, &sel); err != nil {
				return err
			}
			q.places = matching(places, of, sel)
			if len(q.places) > 0 {
				lines = append(lines, q)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := c.assign(lines); err != nil {
		return err
	}
	return c.receipts()
}

// place is one idle device of a request; a slot is used when it is taken.
type place struct {
	req    int // index in reqs
	host   fleet.HostID
	tenant tenant.ID
	labels map[string]string
	device fleet.Device
	taken  bool
}

// places answers replays and lists the idle devices of the other requests, the
// first device of each request first, so that hosts share what there is.
func (c *claim) places() ([]*place, error) {
	revoked, err := c.revoked()
	if err != nil {
		return nil, err
	}
	var out []*place
	for i, r := range c.reqs {
		if err := c.replay(i); err != nil {
			return nil, err
		}
		if c.again[i] || r.Max <= 0 || revoked[r.Host] {
			continue
		}
		busy, err := c.busy(r)
		if err != nil {
			return nil, err
		}
		for _, d := range r.Devices {
			if !busy[d.ID] {
				busy[d.ID] = true // also against a request that names it twice
				out = append(out, &place{req: i, host: r.Host, tenant: r.Tenant, labels: r.Labels, device: d})
			}
		}
	}
	nth, turn := make([]int, len(c.reqs)), map[*place]int{}
	for _, p := range out {
		turn[p] = nth[p.req]
		nth[p.req]++
	}
	slices.SortStableFunc(out, func(a, b *place) int { return turn[a] - turn[b] })
	return out, nil
}

// revoked returns which of the asking hosts are.
func (c *claim) revoked() (map[fleet.HostID]bool, error) {
	hosts := make([]fleet.HostID, len(c.reqs))
	for i, r := range c.reqs {
		hosts[i] = r.Host
	}
	list, err := text(hosts)
	if err != nil {
		return nil, err
	}
	out := map[fleet.HostID]bool{}
	err = c.each(`SELECT id FROM host WHERE id IN (SELECT value FROM json_each(?)) AND revoked_at > 0`, []any{list}, func(scan scan) error {
		var id fleet.HostID
		err := scan(&id)
		out[id] = true
		return err
	})
	return out, err
}

// busy returns those of the request's devices that an attempt holds, or held
// until not long enough ago.
func (c *claim) busy(r task.ClaimRequest) (map[string]bool, error) {
	names := make([]string, len(r.Devices))
	for i, d := range r.Devices {
		names[i] = d.ID
	}
	list, err := text(names)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	err = c.each(`SELECT device FROM device_lease WHERE host = ? AND device IN (SELECT value FROM json_each(?)) AND (free_at = 0 OR free_at > ?)`,
		[]any{r.Host, list, c.lease}, func(scan scan) error {
			var id string
			err := scan(&id)
			out[id] = true
			return err
		})
	return out, err
}

// distinctSelectors jumps from one selector of ready tasks to the next along
// the index: it never walks over tasks.
const distinctSelectors = `WITH RECURSIVE s (selector) AS (
	SELECT min(selector) FROM task WHERE tenant = ?1 AND state = 'queued' AND ready = 1
	UNION ALL
	SELECT (SELECT min(selector) FROM task WHERE tenant = ?2 AND state = 'queued' AND ready = 1 AND selector > s.selector) FROM s WHERE s.selector IS NOT NULL)
	SELECT selector FROM s WHERE selector IS NOT NULL`

func tenants(places []*place) []tenant.ID {
	var out []tenant.ID
	for _, p := range places {
		if !slices.Contains(out, p.tenant) {
			out = append(out, p.tenant)
		}
	}
	return out
}

func matching(places []*place, of tenant.ID, sel task.Selector) []*place {
	var out []*place
	for _, p := range places {
		if p.tenant == of && sel.Matches(p.host, p.labels, p.device) {
			out = append(out, p)
		}
	}
	return out
}

// queue is the ready tasks of one selector, in the order of claims.
type queue struct {
	tenant   tenant.ID
	selector string
	places   []*place
	heads    []head // read ahead
	last     head   // the latest that was read
	started  bool
}

// head is a task's place in a queue.
type head struct {
	rank, n int64
	attempt int
}

// queues is a heap by the first head.
type queues []*queue

func (q queues) Len() int { return len(q) }
func (q queues) Less(i, j int) bool {
	a, b := q[i].heads[0], q[j].heads[0]
	return a.rank < b.rank || a.rank == b.rank && a.n < b.n
}
func (q queues) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queues) Push(x any)   { *q = append(*q, x.(*queue)) }
func (q *queues) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// readAhead is how many tasks of a queue are read at once.
const readAhead = 32

// fill reads the next heads if there are none, and reports whether there are.
func (c *claim) fill(q *queue) (bool, error) {
	if len(q.heads) > 0 {
		return true, nil
	}
	if !q.started {
		q.started, q.last = true, head{rank: -1 << 63}
	}
	err := c.each(`SELECT rank, n, attempt FROM task WHERE tenant = ? AND selector = ? AND state = 'queued' AND ready = 1
		AND (rank, n) > (?, ?) AND (expires_at = 0 OR expires_at > ?) ORDER BY rank, n LIMIT ?`,
		[]any{q.tenant, q.selector, q.last.rank, q.last.n, c.wall, readAhead}, func(scan scan) error {
			var h head
			err := scan(&h.rank, &h.n, &h.attempt)
			q.heads, q.last = append(q.heads, h), h
			return err
		})
	return len(q.heads) > 0, err
}

// assign gives the first task of all queues to a place that its selector
// matches, until either runs out.
func (c *claim) assign(all queues) error {
	var open queues
	for _, q := range all {
		if ok, err := c.fill(q); err != nil {
			return err
		} else if ok {
			open = append(open, q)
		}
	}
	heap.Init(&open)
	for len(open) > 0 {
		q := open[0]
		p := c.free(q)
		if p == nil {
			heap.Pop(&open)
			continue
		}
		if err := c.give(q.heads[0], p); err != nil {
			return err
		}
		q.heads = q.heads[1:]
		more, err := c.fill(q)
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&open, 0)
		} else {
			heap.Pop(&open)
		}
	}
	return nil
}

// free returns the queue's next place that is not taken, of a request that
// wants more; nil: none is left.
func (c *claim) free(q *queue) *place {
	for len(q.places) > 0 {
		p := q.places[0]
		if !p.taken && len(c.given[p.req]) < c.reqs[p.req].Max {
			return p
		}
		q.places = q.places[1:]
	}
	return nil
}

// give makes the task of h an attempt of the place's host.
func (c *claim) give(h head, p *place) error {
	span := c.timing.AckWithin.Microseconds()
	ok, err := c.changed(`UPDATE task SET state = 'leased', attempt = attempt + 1, host = ?, device = ?, lease_expires = ?, lease_span = ?, acted = 0, updated_at = ?
		WHERE n = ? AND attempt = ? AND state = 'queued'`, p.host, p.device.ID, c.lease+span, span, c.wall, h.n, h.attempt)
	if err != nil || !ok {
		return err
	}
	if _, err := c.exec(`INSERT INTO attempt (task, number, host, device, claimed_at) VALUES (?, ?, ?, ?, ?)`,
		h.n, h.attempt+1, p.host, p.device.ID, c.wall); err != nil {
		return err
	}
	if _, err := c.exec(`INSERT INTO device_lease (host, device, task, attempt) VALUES (?, ?, ?, ?)
		ON CONFLICT (host, device) DO UPDATE SET task = excluded.task, attempt = excluded.attempt, free_at = 0, grace = 0`,
		p.host, p.device.ID, h.n, h.attempt+1); err != nil {
		return err
	}
	r, err := readTaskN(c.tx, h.n)
	if err != nil {
		return err
	}
	p.taken = true
	c.given[p.req] = append(c.given[p.req], r.Task)
	return nil
}

// receiptLine is one task of a receipt: its number and the attempt.
type receiptLine [2]int64

// replay answers request i as before, if its key was served a moment ago and
// the host still holds any of what it got. If it holds nothing of it, the answer
// never arrived and was taken back: the request is then a new one.
func (c *claim) replay(i int) error {
	r := c.reqs[i]
	if r.Key == "" {
		return nil
	}
	var lines string
	err := c.scan(`SELECT coalesce(max(tasks), '') FROM claim_receipt WHERE host = ? AND key = ? AND at > ?`,
		[]any{r.Host, r.Key, c.lease - replayFor.Microseconds()}, &lines)
	if err != nil || lines == "" {
		return err
	}
	var had []receiptLine
	if err := json.Unmarshal([]byte(lines), &had); err != nil {
		return err
	}
	for _, l := range had {
		k, err := readTaskN(c.tx, l[0])
		if err != nil {
			return err
		}
		if k.State.Held() && k.Host == r.Host && int64(k.Attempt) == l[1] && k.Tenant == r.Tenant {
			c.given[i] = append(c.given[i], k.Task)
		}
	}
	c.again[i] = len(c.given[i]) > 0
	return nil
}

// receipts notes what was given, and forgets what nobody can ask for any more.
func (c *claim) receipts() error {
	for i, r := range c.reqs {
		if r.Key == "" || len(c.given[i]) == 0 || c.again[i] { // a key that was replayed keeps its time
			continue
		}
		lines := make([]receiptLine, len(c.given[i]))
		for j, k := range c.given[i] {
			n, err := taskNumber(c.tx, k.Tenant, k.ID)
			if err != nil {
				return err
			}
			lines[j] = receiptLine{n, int64(k.Attempt)}
		}
		column, err := text(lines)
		if err != nil {
			return err
		}
		if _, err := c.exec(`INSERT INTO claim_receipt (host, key, at, tasks) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (host, key) DO UPDATE SET at = ?3, tasks = ?4`,
			r.Host, r.Key, c.lease, column); err != nil {
			return err
		}
	}
	_, err := c.exec(`DELETE FROM claim_receipt WHERE at <= ?`, c.lease-replayFor.Microseconds())
	return err
}
