package android_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"interlock/internal/device/android"
	"interlock/internal/device/android/adbdtest"
	"interlock/internal/waittest"
)

// R-RUN-2
func TestPhonesAreSeenAsTheyComeAndGo(t *testing.T) {
	t.Parallel()
	adb, phone := adbdtest.StartServer(t), adbdtest.New(t, adbdtest.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var seen []android.Listed
	var watching sync.WaitGroup
	watching.Go(func() {
		android.Watch(ctx, adb.Address, nil, func(l []android.Listed) {
			mu.Lock()
			defer mu.Unlock()
			seen = l
		})
	})
	until := func(what string, want func(android.Listed) bool, some bool) {
		t.Helper()
		waittest.Until(t, 20*time.Second, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.ContainsFunc(seen, want) == some
		})
	}
	ready := func(l android.Listed) bool {
		return l.Serial == phone.Serial() && l.Ready() && l.Model == "Notes_One"
	}
	adb.Connect(t, phone)
	until("the phone is there", ready, true)
	phone.Drop()
	until("the phone is not ready any more", ready, false)
	phone.Return()
	adb.Ask("host:disconnect:" + phone.Serial())
	adb.Connect(t, phone)
	until("the phone is back", ready, true)
	adb.Block(t)
	until("there is no phone without a server", ready, false)
	adb.Unblock(t)
	adb.Connect(t, phone)
	until("the phone is there on the new server", ready, true)
	stop()
	watching.Wait()
}

// It sets the environment, and so runs alone.
func TestAServerIsStartedWhereNoneRuns(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	address := adbdtest.FreeAddress(t)
	if phones, err := android.ListRunning(t.Context(), address); err == nil {
		t.Errorf("without a server there are %v", phones)
	}
	phones, err := android.List(t.Context(), address)
	if err != nil || len(phones) != 0 {
		t.Errorf("%v, %v", phones, err)
	}
	adbdtest.End(t, address)
}
