package sqlite

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/tenant"
)

func (t *tx) insertHost(h fleet.Host) error {
	labels, err := text(h.Labels)
	if err != nil {
		return err
	}
	devices, err := text(h.Devices)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO host (id, tenant, name, labels, devices, version, slots_free, draining, drain, enrolled_at, last_seen, revoked_at, planner_allowed, decide_limit)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		h.ID, h.Tenant, h.Name, labels, devices, h.Version, h.SlotsFree, h.Draining, h.Drain,
		micros(h.EnrolledAt), micros(h.LastSeen), micros(h.RevokedAt), h.PlannerAllowed, h.DecideLimit)
	return err
}

const hostColumns = `SELECT id, tenant, name, labels, devices, version, slots_free, draining, drain, enrolled_at, last_seen, revoked_at, planner_allowed, decide_limit FROM host `

func scanHost(scan scan) (h fleet.Host, err error) {
	var labels, devices string
	var enrolled, seen, revoked int64
	if err = scan(&h.ID, &h.Tenant, &h.Name, &labels, &devices, &h.Version, &h.SlotsFree, &h.Draining, &h.Drain,
		&enrolled, &seen, &revoked, &h.PlannerAllowed, &h.DecideLimit); err != nil {
		return h, err
	}
	h.EnrolledAt, h.LastSeen, h.RevokedAt = instant(enrolled), instant(seen), instant(revoked)
	if h.Labels, err = parseMap(labels); err != nil {
		return h, err
	}
	if devices != "[]" {
		err = parse(devices, &h.Devices)
	}
	return h, err
}

func readHost(q querier, id fleet.HostID) (h fleet.Host, err error) {
	err = fleet.ErrHostNotFound
	if failed := q.each(hostColumns+`WHERE id = ?`, []any{id}, func(scan scan) error {
		h, err = scanHost(scan)
		return err
	}); failed != nil {
		err = failed
	}
	return h, err
}

// readHostOf reads a host of one tenant.
func readHostOf(q querier, of tenant.ID, id fleet.HostID) (fleet.Host, error) {
	h, err := readHost(q, id)
	if err == nil && h.Tenant != of {
		return fleet.Host{}, fleet.ErrHostNotFound
	}
	return h, err
}

// Host implements fleet.Store.
func (s *Store) Host(ctx context.Context, of tenant.ID, id fleet.HostID) (h fleet.Host, err error) {
	err = s.read(ctx, func(v view) (err error) {
		h, err = readHostOf(v, of, id)
		return err
	})
	return h, during("read a host", err)
}

// Hosts implements fleet.Store.
func (s *Store) Hosts(ctx context.Context, of tenant.ID) ([]fleet.Host, error) {
	var out []fleet.Host
	err := s.read(ctx, func(v view) error {
		return v.each(hostColumns+`WHERE tenant = ? ORDER BY name, id`, []any{of}, func(scan scan) error {
			h, err := scanHost(scan)
			out = append(out, h)
			return err
		})
	})
	return out, during("list hosts", err)
}

// RecordSeen implements fleet.Store. News that is older than what is known,
// and news of a host that is not there, is dropped.
func (s *Store) RecordSeen(ctx context.Context, batch []fleet.Seen) error {
	return during("record heartbeats", s.write(ctx, control, func(t *tx) error {
		for _, seen := range batch {
			devices, err := text(seen.Devices)
			if err != nil {
				return err
			}
			if _, err := t.exec(`UPDATE host SET last_seen = ?, devices = ?, slots_free = ?, draining = ?, version = ? WHERE id = ? AND last_seen <= ?`,
				micros(seen.At), devices, seen.SlotsFree, seen.Draining, seen.Version, seen.Host, micros(seen.At)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// RevokeHost implements fleet.Store. A host that is revoked already stays so
// from when it was, and no fact is added.
func (s *Store) RevokeHost(ctx context.Context, of tenant.ID, id fleet.HostID, at time.Time, f audit.Fact) error {
	return during("revoke a host", s.write(ctx, control, func(t *tx) error {
		h, err := readHostOf(t, of, id)
		if err != nil || !h.RevokedAt.IsZero() {
			return err
		}
		if _, err := t.exec(`UPDATE host SET revoked_at = ? WHERE id = ? AND revoked_at = 0`, micros(at), id); err != nil {
			return err
		}
		return t.seal(of, f)
	}))
}

// SetPlanner implements fleet.Store.
func (s *Store) SetPlanner(ctx context.Context, of tenant.ID, id fleet.HostID, allowed bool, decideLimit int, f audit.Fact) error {
	return during("set a host's planner permission", s.changeHost(ctx, of, id, f,
		`UPDATE host SET planner_allowed = ?, decide_limit = ? WHERE id = ? AND tenant = ? AND revoked_at = 0`, allowed, decideLimit, id, of))
}

// SetDrain implements fleet.Store.
func (s *Store) SetDrain(ctx context.Context, of tenant.ID, id fleet.HostID, drain bool, f audit.Fact) error {
	return during("drain a host", s.changeHost(ctx, of, id, f, `UPDATE host SET drain = ? WHERE id = ? AND tenant = ? AND revoked_at = 0`, drain, id, of))
}

// changeHost runs an update that leaves revoked hosts alone.
func (s *Store) changeHost(ctx context.Context, of tenant.ID, id fleet.HostID, f audit.Fact, update string, args ...any) error {
	return s.write(ctx, control, func(t *tx) error {
		ok, err := t.changed(update, args...)
		if err != nil {
			return err
		}
		if !ok {
			if _, err := readHostOf(t, of, id); err != nil {
				return err
			}
			return fleet.ErrHostGone
		}
		return t.seal(of, f)
	})
}
