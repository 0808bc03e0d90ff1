package host_test

import (
	"context"
	"slices"
	"testing"

	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
)

// finder is a host.Finder that a test moves by hand.
type finder struct{ seen chan []host.Device }

func (f finder) find(ctx context.Context, found func([]host.Device)) {
	for {
		select {
		case seen := <-f.seen:
			found(seen)
		case <-ctx.Done():
			return
		}
	}
}

// told waits until the control plane has been told of exactly those devices.
func (w *world) told(t *testing.T, ids ...string) {
	t.Helper()
	w.Wait(t, "the control plane to know the devices", func() bool {
		var known []string
		for _, d := range w.Heartbeat().Devices {
			known = append(known, d.ID)
		}
		slices.Sort(known)
		return slices.Equal(known, ids)
	})
}

// R-RUN-2
func TestPhonesAreOfferedAsTheyComeAndGo(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		f, late := finder{make(chan []host.Device)}, &phone{}
		w.cfg.Devices, w.cfg.Finders = nil, []host.Finder{f.find}
		h := w.run(t, tapping(1, 0))
		id := w.Submit(hostapi.Assignment{Goal: "count", DeviceID: "late"})
		f.seen <- []host.Device{late.offer("late")}
		if got := w.await(t, id); got.Result.State != "succeeded" {
			t.Errorf("ended %s", got.Result.State)
		}
		w.told(t, "late")
		f.seen <- nil
		w.told(t)
		again := w.Submit(hostapi.Assignment{Goal: "count", DeviceID: "late"})
		f.seen <- []host.Device{late.offer("late"), late.offer("second")}
		if got := w.await(t, again); got.Result.State != "succeeded" {
			t.Errorf("the second ended %s", got.Result.State)
		}
		w.told(t, "late", "second")
		h.end(t)
	})
}

func TestAFinderTakesNoDeviceOfAnother(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		f := finder{make(chan []host.Device)}
		w.cfg.Finders = []host.Finder{f.find}
		h := w.run(t, tapping(1, 0))
		other := &phone{}
		f.seen <- []host.Device{other.offer("p1"), other.offer(""), {Device: hostapi.Device{ID: "undriven", Kind: "sim"}}, other.offer("p2")}
		w.told(t, "p1", "p2")
		f.seen <- nil
		w.told(t, "p1")
		id := w.Submit(hostapi.Assignment{Goal: "count", DeviceID: "p1"})
		if got := w.await(t, id); got.Result.State != "succeeded" {
			t.Errorf("ended %s", got.Result.State)
		}
		if touched, _ := other.touches(); len(touched) != 0 {
			t.Error("the finder's phone was driven in the place of the host's own")
		}
		h.end(t)
	})
}

func TestAHostOfManyFindsForgetsThoseThatAreGone(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		f, p := finder{make(chan []host.Device)}, &phone{}
		w.cfg.Devices, w.cfg.Finders = nil, []host.Finder{f.find}
		h := w.run(t, tapping(1, 0))
		many := func(prefix string) (out []host.Device) {
			for i := range hostapi.MaxDevices {
				out = append(out, p.offer(prefix+string(rune('A'+i/26))+string(rune('a'+i%26))))
			}
			return out
		}
		f.seen <- many("first")
		f.seen <- many("then")
		w.Wait(t, "the control plane to know the new devices", func() bool {
			d := w.Heartbeat().Devices
			return len(d) == hostapi.MaxDevices && d[0].ID == "thenAa"
		})
		h.end(t)
	})
}
