package adbdtest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say what the phone is. The zero value is a phone of 1080 by 2400
// pixels at 420 dpi that stands upright.
type Options struct {
	Width, Height int // of the panel in its natural position
	// Override is a size that somebody has set instead, [2]int{} for none.
	Override [2]int
	Density  int
	Turned   int  // quarter turns
	Displays int  // more than one: screencap warns unless it is told which
	Method   bool // the helper that types through an input method is installed
	Pasting  bool // the helper that types through the clipboard is installed
}

// Phone is the daemon of one phone with what is behind it.
type Phone struct {
	listener net.Listener
	running  sync.WaitGroup

	mu        sync.Mutex // guards all below
	opts      Options
	links     map[*link]bool // true: it answers no more
	frozen    chan struct{}  // closed when the phone thaws; nil: it is not frozen
	shy       bool           // it never says whether the server may drive it
	off       bool
	answers   []*answer
	commands  []string
	boot      string
	boots     int
	state     state
	clipboard string
	method    string
	enabled   map[string]bool
}

// New starts a phone. No server knows it yet; see Server.Connect.
func New(t testing.TB, o Options) *Phone {
	t.Helper()
	if o.Width == 0 {
		o.Width, o.Height = 1080, 2400
	}
	if o.Density == 0 {
		o.Density = 420
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Phone{listener: l, opts: o, links: map[*link]bool{}, enabled: map[string]bool{usualMethod: true}, method: usualMethod}
	p.start()
	p.running.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Thaw()
		p.cut()
		p.running.Wait()
	})
	return p
}

// Serial is the phone's name at the server.
func (p *Phone) Serial() string { return p.listener.Addr().String() }

// start is what a phone does when it is switched on; the caller holds mu, or
// is alone.
func (p *Phone) start() {
	p.boots++
	p.boot = fmt.Sprintf("00000000-0000-4000-8000-%012d", p.boots)
	p.state = newState()
}

func (p *Phone) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := &link{phone: p, Conn: c, streams: map[uint32]*stream{}}
		l.ctx, l.cancel = context.WithCancel(context.Background())
		p.mu.Lock()
		refused := p.off
		if !refused {
			p.links[l] = false
		}
		p.mu.Unlock()
		if refused {
			c.Close()
			l.cancel()
			continue
		}
		p.running.Go(func() {
			l.serve()
			p.mu.Lock()
			delete(p.links, l)
			p.mu.Unlock()
		})
	}
}

// cut ends every connection.
func (p *Phone) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cancel()
		l.Close()
	}
}

// Drop ends the phone's connections, as a pulled cable does, and takes none
// until Return.
func (p *Phone) Drop() {
	p.mu.Lock()
	p.off = true
	p.mu.Unlock()
	p.cut()
}

// Return takes connections again.
func (p *Phone) Return() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}

// Restart switches the phone off and on again; it keeps nothing.
func (p *Phone) Restart() {
	p.cut()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start()
}

// Freeze makes the phone read on and never answer, until Thaw.
func (p *Phone) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Wedge makes the connections of now never answer again. New ones work.
func (p *Phone) Wedge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		p.links[l] = true
	}
}

// Thaw ends Freeze.
func (p *Phone) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Unauthorize ends the phone's connections and lets new ones wait for its
// owner's leave, which never comes; Authorize gives it.
func (p *Phone) Unauthorize() { p.shyness(true) }

// Authorize lets servers drive the phone again.
func (p *Phone) Authorize() { p.shyness(false) }

func (p *Phone) shyness(shy bool) {
	p.mu.Lock()
	p.shy = shy
	p.mu.Unlock()
	p.cut()
}

func (p *Phone) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shy
}

// awake waits while the phone is frozen; false: the connection ended meanwhile.
func (p *Phone) awake(l *link) bool {
	ctx := l.ctx
	p.mu.Lock()
	frozen := p.frozen
	if p.links[l] {
		frozen = make(chan struct{}) // for good
	}
	p.mu.Unlock()
	if frozen == nil {
		return true
	}
	select {
	case <-frozen:
		return true
	case <-ctx.Done():
		return false
	}
}

// banner is how the phone presents itself.
func (p *Phone) banner() string {
	return "device::ro.product.name=notes;ro.product.model=Notes_One;ro.product.device=notes;features=shell_v2,cmd"
}

// Reply is how one command is answered.
type Reply struct {
	Out   string
	Err   string // on standard error
	Exit  int
	After bool // the command is carried out first; Out stands before what it writes
	Die   bool // the connection ends after Out, without an exit code, and none is taken until Return
	Drip  time.Duration
	Hang  bool                // nothing comes after Out
	Edit  func([]byte) []byte // changes what the command writes; implies After
}

type answer struct {
	prefix string
	reply  Reply
}

// Answer has the next command that starts with prefix, without the check of
// the boot in front, answered by reply. Each counts for one command, the oldest
// first.
func (p *Phone) Answer(prefix string, replies ...Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range replies {
		p.answers = append(p.answers, &answer{prefix, r})
	}
}

// planned takes the reply that is planned for a command.
func (p *Phone) planned(command string) (Reply, bool) {
	for i, a := range p.answers {
		if strings.HasPrefix(command, a.prefix) {
			p.answers = append(p.answers[:i:i], p.answers[i+1:]...)
			return a.reply, true
		}
	}
	return Reply{}, false
}

// Commands lists the commands that the phone was given, oldest first, without
// the check of the boot in front.
func (p *Phone) Commands() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.commands...)
}
