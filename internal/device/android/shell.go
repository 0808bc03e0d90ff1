package android

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Packets of the shell protocol, version 2.
const (
	packetOut  = 1
	packetErr  = 2
	packetExit = 3
)

// maxPacket is larger than any packet that a phone may send.
const maxPacket = 1 << 20

// limits bound one command on the phone.
type limits struct {
	time  time.Duration
	bytes int // of its output
}

// patience is the limits of each kind of command. A side question has its own
// short time, so that a report that Android takes long to write costs no more.
type patience struct {
	ask, act, dump, screen limits
	heal                   time.Duration
}

var usualPatience = patience{
	ask:    limits{3 * time.Second, 4 << 20},
	act:    limits{10 * time.Second, 64 << 10},
	dump:   limits{20 * time.Second, 32 << 20}, // uiautomator waits ten seconds for a screen to rest
	screen: limits{10 * time.Second, 64 << 20},
	heal:   6 * time.Second,
}

// output is what a command wrote and how it ended.
type output struct {
	out  []byte
	said string // on standard error, cut
	exit int
}

// text is all that the command said, for telling its failures apart.
func (o output) text() string { return string(o.out[:min(len(o.out), maxSaid)]) + "\n" + o.said }

const maxSaid = 8 << 10

// unsent marks a failure from before the phone was asked for anything.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// shell runs command in the phone's shell. An error says that there is no
// exit code; it is an unsent where the phone was not asked.
func (p *Phone) shell(ctx context.Context, l limits, command string) (output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.time, errSlow)
	defer cancel()
	c, err := p.transport(ctx)
	if err != nil {
		return output{}, unsent{err}
	}
	defer c.Close()
	request := "shell,v2,raw:" + command
	if len(request) > maxRequest {
		return output{}, unsent{fmt.Errorf("adb: a command of %d bytes is too long", len(request))}
	}
	if err := c.ask(request); err != nil {
		return output{}, err
	}
	return c.collect(l.bytes)
}

// errSlow is a phone that let a deadline pass.
var errSlow = errors.New("adb: the phone did not answer in time")

// errLong is an answer beyond its limit.
var errLong = errors.New("adb: the phone's answer is too long")

// transport connects to the phone through the server.
func (p *Phone) transport(ctx context.Context) (*conn, error) {
	c, err := p.server.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.ask("host:transport:" + p.serial); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// collect reads packets until the command's exit code.
func (c *conn) collect(limit int) (o output, err error) {
	var said strings.Builder
	defer func() { o.said = said.String() }()
	var head [5]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return o, c.broken(err)
		}
		n := int(binary.LittleEndian.Uint32(head[1:]))
		if n < 0 || n > maxPacket {
			return o, errors.New("adb: the phone does not speak the shell protocol")
		}
		if head[0] == packetOut && len(o.out)+n > limit {
			return o, errLong
		}
		start := len(o.out)
		o.out = append(o.out, make([]byte, n)...)
		body := o.out[start:]
		if _, err := io.ReadFull(c, body); err != nil {
			o.out = o.out[:start]
			return o, c.broken(err)
		}
		if head[0] == packetOut {
			continue
		}
		o.out = o.out[:start]
		switch {
		case head[0] == packetErr && said.Len() < maxSaid:
			said.Write(body[:min(n, maxSaid-said.Len())])
		case head[0] == packetExit && n == 1:
			o.exit = int(body[0])
			return o, nil
		}
	}
}

// quote makes one word of s for the phone's shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
