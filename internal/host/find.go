package host

import (
	"context"
	"errors"
	"slices"
	"sync"

	"interlock/internal/hostapi"
)

// keepFinding runs the finders.
func (h *Host) keepFinding(ctx context.Context) error {
	var finders sync.WaitGroup
	for i, find := range h.cfg.Finders {
		finders.Go(func() { find(ctx, func(seen []Device) { h.found(i, seen) }) })
	}
	finders.Wait()
	return nil
}

// found takes what a finder sees now. A phone that it does not see any more is
// offered no longer; an attempt that runs on it finds out by itself. One that
// comes back keeps the rest that it was given.
func (h *Host) found(finder int, seen []Device) {
	h.mu.Lock()
	changed := h.mark(finder, seen)
	var added, left []string
	for _, d := range seen {
		switch err := h.add(finder, d); err {
		case nil:
			added = append(added, d.ID)
		case errKnown:
		default:
			left = append(left, oneLine(d.ID, 100)+" "+err.Error())
		}
	}
	h.mu.Unlock()
	for _, id := range added {
		h.log.Info("a device was found", "device", id)
	}
	for _, why := range left {
		h.log.Warn("a device that was found is not offered", "device", why)
	}
	if changed || len(added) > 0 {
		nudge(h.beatNow)
		nudge(h.reoffer)
	}
}

// mark notes which of a finder's phones are there, and reports whether that
// changed; the caller holds mu.
func (h *Host) mark(finder int, seen []Device) (changed bool) {
	for _, p := range h.phones {
		if p.finder != finder {
			continue
		}
		gone := !slices.ContainsFunc(seen, func(d Device) bool { return d.ID == p.ID })
		changed = changed || p.gone != gone
		p.gone = gone
	}
	return changed
}

// Why a phone that was found is not added.
var (
	errKnown  = errors.New("is known")
	errTaken  = errors.New("has the id of another device")
	errUnfit  = errors.New("has no usable id or no driver")
	errTooFar = errors.New("is one device more than a host may have")
)

// add offers a phone that is new; the caller holds mu. Where the host has as
// many as one may, those make room that are gone and idle.
func (h *Host) add(finder int, d Device) error {
	i := slices.IndexFunc(h.phones, func(p *phone) bool { return p.ID == d.ID })
	switch {
	case i >= 0 && h.phones[i].finder == finder:
		return errKnown
	case i >= 0:
		return errTaken
	case len(Config{Devices: []Device{d}}.wrongDevices()) > 0:
		return errUnfit
	}
	if len(h.phones) >= hostapi.MaxDevices {
		h.phones = slices.DeleteFunc(h.phones, func(p *phone) bool { return p.gone && !p.busy })
	}
	if len(h.phones) >= hostapi.MaxDevices {
		return errTooFar
	}
	h.phones = append(h.phones, &phone{Device: d, finder: finder})
	return nil
}

// present is what the control plane is told of the devices.
func (h *Host) present() []hostapi.Device {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]hostapi.Device, 0, len(h.phones))
	for _, p := range h.phones {
		if !p.gone {
			out = append(out, p.Device.Device)
		}
	}
	return out
}
