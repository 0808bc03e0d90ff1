package android

import (
	"context"
	"errors"
	"strings"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// Why uiautomator gave no description.
var (
	errRestless = errors.New("adb: the screen never rests, so uiautomator gave up")
	errNoRoot   = errors.New("adb: uiautomator found no window; the screen may be off or an app starting")
)

// incomplete reports whether err leaves the rest of the phone readable.
func incomplete(err error) bool {
	return errors.Is(err, errRestless) || errors.Is(err, errNoRoot) || errors.Is(err, errTreeCut) || errors.Is(err, errNoTree)
}

// Where the elements of a scene come from.
const (
	treeWhole device.Tree = "uiautomator"
	treeBrief device.Tree = "uiautomator-brief" // without what Android thinks unimportant
	treeNone  device.Tree = "picture"
)

// Commands of uiautomator. It exits with 0 also where it fails. The file is
// for phones on which it can't write to /dev/tty.
const (
	dumpWhole  = "uiautomator dump /dev/tty"
	dumpBrief  = "uiautomator dump --compressed /dev/tty"
	dumpToFile = "f=/data/local/tmp/interlock.xml; rm -f $f; uiautomator dump $f; cat $f; rm -f $f"
)

// restless remembers a window that never rested, so that the ten seconds in
// which uiautomator finds that out are not spent on every look.
type restless struct {
	window string
	until  time.Time
	brief  bool // the brief description worked there
}

const restlessTime = 20 * time.Second

// tree reads the description of the window in front.
func (p *Phone) tree(ctx context.Context) (hierarchy, error) {
	command := dumpWhole
	if time.Now().Before(p.restless.until) {
		var w windows
		switch p.readWindows(ctx, &w); {
		case w.focus != p.restless.window:
		case p.restless.brief:
			command = dumpBrief
		default:
			return hierarchy{}, errRestless
		}
	}
	h, err := p.dump(ctx, command)
	if !errors.Is(err, errRestless) {
		return h, err
	}
	if command != dumpBrief {
		h, err = p.dump(ctx, dumpBrief)
	}
	if err == nil || errors.Is(err, errRestless) {
		var w windows
		if p.readWindows(ctx, &w) == nil {
			p.restless = restless{w.focus, time.Now().Add(restlessTime), err == nil}
		}
	}
	return h, err
}

// dump asks uiautomator, again where its answer was cut or there was no window.
func (p *Phone) dump(ctx context.Context, command string) (h hierarchy, err error) {
	const tries = 5
	for try := 1; try <= tries; try++ {
		h, err = p.dumpOnce(ctx, command)
		if !errors.Is(err, errTreeCut) && !errors.Is(err, errNoRoot) {
			return h, err
		}
		if err := sleep.For(ctx, lookPause); err != nil {
			return h, err
		}
	}
	return h, err
}

func (p *Phone) dumpOnce(ctx context.Context, command string) (hierarchy, error) {
	if p.noTerminal && command == dumpWhole {
		command = dumpToFile
	}
	o, err := p.shell(ctx, p.limits.dump, command)
	if err != nil {
		return hierarchy{}, err
	}
	h, err := readHierarchy(o.out)
	if h.source = treeWhole; command == dumpBrief {
		h.source = treeBrief
	}
	if !errors.Is(err, errNoTree) {
		return h, err
	}
	switch text := o.text(); {
	case strings.Contains(text, "could not get idle state"):
		return h, errRestless
	case strings.Contains(text, "null root node"):
		return h, errNoRoot
	case saidBusy(o):
		return h, device.ErrBusy
	case command == dumpToFile:
		return h, errNoTree
	}
	if h, err = p.dumpOnce(ctx, dumpToFile); err == nil {
		p.noTerminal = true
	}
	return h, err
}
