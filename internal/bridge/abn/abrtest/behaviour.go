package abrtest

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// Behaviour is how answers about one ABN go wrong.
type Behaviour func(c Call)

// Refuse answers with a message instead of a record, in the form's own way.
func Refuse(message string) Behaviour { return func(c Call) { c.refuse(message) } }

// Answer answers with text in the form's type.
func Answer(text string) Behaviour { return func(c Call) { c.body(text) } }

// As answers with the record of e, whatever was asked for.
func As(e Entity) Behaviour { return func(c Call) { c.answer(e) } }

// Status answers with a status, a type and a body that no form has.
func Status(status int, media, text string) Behaviour {
	return func(c Call) {
		c.w.Header().Set("Content-Type", media)
		c.w.WriteHeader(status)
		io.WriteString(c.w, text)
	}
}

// Page answers with a page of HTML and the status 200, as a proxy or a notice
// of maintenance does.
func Page() Behaviour {
	return Status(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html><html><body>The service is being maintained.</body></html>")
}

// Redirect sends the client to another address, with the query.
func Redirect(to string) Behaviour {
	return func(c Call) { http.Redirect(c.w, c.r, to+"?"+c.r.URL.RawQuery, http.StatusFound) }
}

// Cut breaks the connection in the middle of a record of e.
func Cut(e Entity) Behaviour {
	return func(c Call) {
		c.w.Header().Set("Content-Length", "1000000")
		c.answer(e)
		http.NewResponseController(c.w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Padded answers with the record of e and so many bytes of space behind it.
func Padded(e Entity, bytes int) Behaviour {
	return func(c Call) {
		c.answer(e)
		io.WriteString(c.w, strings.Repeat(" ", bytes))
	}
}

// Hang answers nothing until the client gives up.
func Hang() Behaviour {
	return func(c Call) {
		<-c.r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Raw takes the connection over and writes text in place of HTTP.
func Raw(text string) Behaviour {
	return func(c Call) {
		conn, _, err := http.NewResponseController(c.w).Hijack()
		if err != nil {
			panic(err) // the service speaks HTTP/1.1, where a connection can be taken over
		}
		defer conn.Close()
		io.WriteString(conn, text)
	}
}

// Gate holds answers back until it is opened.
type Gate struct {
	arrived chan struct{}
	open    chan struct{}
	once    sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{arrived: make(chan struct{}, 1024), open: make(chan struct{})}
}

// Hold makes answers wait at the gate, and goes on as then does. A client that
// gives up leaves the gate.
func (g *Gate) Hold(then Behaviour) Behaviour {
	return func(c Call) {
		g.arrived <- struct{}{}
		select {
		case <-g.open:
			then(c)
		case <-c.r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Arrived has one value for each request that came to the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Open lets everybody through from now on.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }
