package adbdtest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// Messages of the protocol between server and daemon, by their first word.
const (
	msgConnect = 0x4e584e43 // CNXN
	msgAuth    = 0x48545541 // AUTH
	msgOpen    = 0x4e45504f // OPEN
	msgOkay    = 0x59414b4f // OKAY
	msgClose   = 0x45534c43 // CLSE
	msgWrite   = 0x45545257 // WRTE
)

const (
	protocolVersion = 0x01000001
	maxPayload      = 256 << 10
	tokenSize       = 20
)

// link is one connection of an adb server.
type link struct {
	phone *Phone
	net.Conn
	ctx    context.Context
	cancel context.CancelFunc

	writing sync.Mutex
	mu      sync.Mutex
	streams map[uint32]*stream // by our id
	last    uint32
}

// stream is one service that the server has opened.
type stream struct {
	link       *link
	id, remote uint32
	okay       chan struct{} // one waits: the last write was taken
	ctx        context.Context
	cancel     context.CancelFunc
}

// serve reads messages until the connection ends.
func (l *link) serve() {
	defer l.Close()
	defer l.cancel()
	for {
		var head [24]byte
		if _, err := io.ReadFull(l, head[:]); err != nil {
			return
		}
		word := func(i int) uint32 { return binary.LittleEndian.Uint32(head[4*i:]) }
		if word(3) > maxPayload {
			return
		}
		body := make([]byte, word(3))
		if _, err := io.ReadFull(l, body); err != nil {
			return
		}
		if !l.phone.awake(l) {
			return
		}
		l.take(word(0), word(1), word(2), body)
	}
}

func (l *link) take(command, arg0, arg1 uint32, body []byte) {
	switch command {
	case msgConnect:
		if l.phone.silent() {
			l.send(msgAuth, 1, 0, make([]byte, tokenSize))
			return
		}
		l.send(msgConnect, protocolVersion, maxPayload, []byte(l.phone.banner()))
	case msgOpen:
		l.open(arg0, strings.TrimRight(string(body), "\x00"))
	case msgOkay:
		if s := l.stream(arg1); s != nil {
			s.okay <- struct{}{}
		}
	case msgWrite:
		l.send(msgOkay, arg1, arg0, nil) // input, which no command here reads
	case msgClose:
		if s := l.stream(arg1); s != nil {
			s.cancel()
		}
	}
}

func (l *link) stream(id uint32) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

func (l *link) send(command, arg0, arg1 uint32, body []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	sum := uint32(0) // this version of the protocol goes without
	m := make([]byte, 0, 24+len(body))
	for _, w := range []uint32{command, arg0, arg1, uint32(len(body)), sum, command ^ 0xffffffff} {
		m = binary.LittleEndian.AppendUint32(m, w)
	}
	_, err := l.Write(append(m, body...))
	return err
}

// open starts a service; the shell is the only one.
func (l *link) open(remote uint32, service string) {
	command, ok := strings.CutPrefix(service, "shell,v2,raw:")
	if !ok {
		l.send(msgClose, 0, remote, nil)
		return
	}
	l.mu.Lock()
	l.last++
	s := &stream{link: l, id: l.last, remote: remote, okay: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(l.ctx)
	l.streams[s.id] = s
	l.mu.Unlock()
	l.send(msgOkay, s.id, remote, nil)
	l.phone.running.Go(func() {
		defer s.end()
		l.phone.run(s, command)
	})
}

func (s *stream) end() {
	s.link.mu.Lock()
	delete(s.link.streams, s.id)
	s.link.mu.Unlock()
	s.link.send(msgClose, s.id, s.remote, nil)
	s.cancel()
}

var errGone = errors.New("the server has closed the stream")

// write sends b in messages, each after the one before was taken.
func (s *stream) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), maxPayload)
		if err := s.link.send(msgWrite, s.id, s.remote, b[:n]); err != nil {
			return err
		}
		b = b[n:]
		select {
		case <-s.okay:
		case <-s.ctx.Done():
			return errGone
		}
	}
	return nil
}

// Packets of the shell protocol.
const (
	packetOut  = 1
	packetErr  = 2
	packetExit = 3
)

func (s *stream) packet(kind byte, b []byte) error {
	const most = 32 << 10
	for {
		n := min(len(b), most)
		p := append(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(n)), b[:n]...)
		if err := s.write(p); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
}
