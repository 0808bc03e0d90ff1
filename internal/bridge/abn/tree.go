package abn

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
)

// element is one of a parsed document. All of its methods work on nil, which
// has nothing.
type element struct {
	name     string
	text     []byte // outside the children
	children []*element
}

// all returns the children of the name, in order.
func (e *element) all(name string) []*element {
	if e == nil {
		return nil
	}
	var found []*element
	for _, c := range e.children {
		if c.name == name {
			found = append(found, c)
		}
	}
	return found
}

const (
	maxDepth    = 16
	maxElements = 20_000
)

// Why a document is not read.
var (
	errSyntax  = errors.New("the register's answer is not XML in UTF-8")
	errForeign = errors.New("the register's answer is another document")
	errLarge   = errors.New("the register's answer is nested too deeply or has too many elements")
	errDTD     = errors.New("the register's answer has a document type or instructions")
)

// readTree parses one document that has a root of the name and elements of the
// namespace only. There are no document types, so no entities but XML's own.
func readTree(body []byte, namespace, root string) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	document := &element{}
	open := []*element{document}
	for elements := 0; ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, errSyntax
		}
		switch t := token.(type) {
		case xml.StartElement:
			elements++
			switch {
			case len(open) > maxDepth || elements > maxElements:
				return nil, errLarge
			case t.Name.Space != namespace:
				return nil, errForeign
			}
			e := &element{name: t.Name.Local}
			parent := open[len(open)-1]
			parent.children = append(parent.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			e := open[len(open)-1]
			e.text = append(e.text, t...)
		case xml.Directive:
			return nil, errDTD
		case xml.ProcInst:
			if t.Target != "xml" {
				return nil, errDTD
			}
		}
	}
	if len(document.children) != 1 || document.children[0].name != root || len(bytes.TrimSpace(document.text)) > 0 {
		return nil, errForeign
	}
	return document.children[0], nil
}
