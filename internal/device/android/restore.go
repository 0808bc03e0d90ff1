package android

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"interlock/internal/device"
	"interlock/internal/sleep"
	"interlock/internal/wholefile"
)

// borrowed is what must be put back on a phone. It is on the disk before the
// phone is changed, so that a program that is killed in between finds it.
type borrowed struct {
	Serial  string `json:"serial"`
	Method  string `json:"method"`  // the phone's own input method
	Enabled bool   `json:"enabled"` // the helper could be chosen before
}

// methodName is the form of an input method's name, "" or "null" for none.
var methodName = regexp.MustCompile(`^[A-Za-z][\w.]*/[\w.$]+$`)

const maxBorrowed = 4 << 10

// borrowMethod makes the helper the phone's input method. Its errors are a
// driver's; sent says whether part of the action was sent before.
func (p *Phone) borrowMethod(ctx context.Context, sent bool) error {
	b, err := p.ownMethod(ctx)
	if err != nil {
		return acting(unsent{err}, sent) // it only asked
	}
	if b.Method == methodHelper {
		return nil
	}
	if err := p.keep(b); err != nil {
		return acting(unsent{err}, sent)
	}
	if err := p.act(ctx, sent, "ime enable "+methodHelper+" && ime set "+methodHelper); err != nil {
		return err
	}
	if err := p.awaitMethod(ctx); err != nil {
		return acting(err, true)
	}
	return nil
}

// ownMethod asks for what will have to be put back.
func (p *Phone) ownMethod(ctx context.Context) (borrowed, error) {
	o, err := p.shell(ctx, p.limits.ask, "settings get secure default_input_method; ime list -s")
	if err != nil {
		return borrowed{}, err
	}
	own, enabled, _ := strings.Cut(string(o.out), "\n")
	b := borrowed{Serial: p.serial, Method: strings.TrimSpace(own), Enabled: strings.Contains(enabled, methodHelper)}
	if !methodName.MatchString(b.Method) {
		return borrowed{}, device.ErrFailed.Because(errors.New("adb: the phone does not name its input method, so it could not be put back"))
	}
	return b, nil
}

// awaitMethod waits until the helper has been chosen and has come up.
func (p *Phone) awaitMethod(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, methodTime)
	defer cancel()
	for {
		o, err := p.shell(ctx, p.limits.ask, "settings get secure default_input_method; dumpsys input_method")
		if err != nil {
			return err
		}
		if shown, known := readKeyboard(string(o.out)); strings.HasPrefix(string(o.out), methodHelper) && (shown || !known) {
			return nil
		}
		if sleep.For(ctx, lookPause/2) != nil {
			return errors.New("adb: the helper that types did not come up")
		}
	}
}

// putBackTime bounds putting back.
const putBackTime = 5 * time.Second

// putBack puts back what this program, or one before it, borrowed.
func (p *Phone) putBack(ctx context.Context) error {
	b, err := p.kept()
	if err != nil || b == nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, putBackTime, errSlow)
	defer cancel()
	command := "ime set " + quote(b.Method)
	if !b.Enabled {
		command += "; ime disable " + methodHelper
	}
	if _, err := p.shell(ctx, p.limits.act, command); err != nil {
		return err
	}
	o, err := p.shell(ctx, p.limits.ask, "settings get secure default_input_method")
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(o.out)) != b.Method {
		return errors.New("adb: the phone did not take its input method back")
	}
	return os.Remove(p.stateFile())
}

// stateFile is named for the phone; a serial number may hold anything.
func (p *Phone) stateFile() string {
	return filepath.Join(p.opts.StateDir, "android-"+hex.EncodeToString([]byte(p.serial))+".json")
}

func (p *Phone) keep(b borrowed) error {
	content, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode what to put back: %w", err)
	}
	if err := os.MkdirAll(p.opts.StateDir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	if err := wholefile.Replace(p.stateFile(), content); err != nil {
		return fmt.Errorf("note what to put back: %w", err)
	}
	return nil
}

// kept returns what is borrowed; nil: nothing.
func (p *Phone) kept() (*borrowed, error) {
	if p.opts.StateDir == "" {
		return nil, nil
	}
	content, err := os.ReadFile(p.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var b borrowed
	if err := json.Unmarshal(content, &b, json.RejectUnknownMembers(true)); err != nil || len(content) > maxBorrowed || b.Serial != p.serial || !methodName.MatchString(b.Method) {
		return nil, errors.New("the note of what to put back on the phone is damaged: " + p.stateFile())
	}
	return &b, nil
}
