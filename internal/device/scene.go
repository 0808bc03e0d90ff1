package device

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what Seal keeps of a screen. What is beyond them is counted in
// Scene.Dropped or cut.
const (
	MaxElements  = 2000
	MaxTextRunes = 1000 // of each text, label and id
	MaxEdge      = 1 << 15

	maxTreeRunes = 40
	minArea      = 6 // square pixels of an element; what is smaller is there for machines
)

// Scene is what a phone shows at one moment. Seal makes it.
type Scene struct {
	App           string // package in the foreground; "" where the phone does not say
	Web           bool   // a browser's page: App is its host and port, and an address opens in its place
	Size          Size   // of the screen as it is turned now, in the pixels of bounds and actions
	Rotation      int    // 0, 90, 180 or 270 degrees from the natural position
	KeyboardShown bool
	Secure        bool // the app forbids pictures of this screen
	Elements      []Element
	Dropped       int         // elements beyond MaxElements, and those of which hardly anything is visible
	Screenshot    *Screenshot // nil: none was taken, or the screen is secure
	// Tree says how the driver read the elements. Two ways of reading one
	// screen tell different elements, so a scene read another way is another
	// scene.
	Tree   Tree
	Opaque bool // the app draws some of this screen without describing it, as a canvas or a web view may
	// Unsettled says that the screen had not come to rest when it was read:
	// what is told here may be on its way elsewhere.
	Unsettled bool
	// Hash is the hex SHA-256 of all of the above but Dropped, Unsettled and
	// the picture: two scenes with one hash offer the same things at the same
	// places. Where an app draws without describing what it draws, the hash
	// can't see it change.
	Hash string
}

// Tree is a way of reading the elements of a screen, as a word of the
// driver's: "dom", "uiautomator". "" is for a driver that has only one.
type Tree string

// Loading reports whether the screen says that more is to come: it shows that
// something is in progress.
func (s *Scene) Loading() bool {
	return slices.ContainsFunc(s.Elements, func(e Element) bool { return strings.Contains(strings.ToLower(e.Role), "progress") })
}

// Element is one thing on the screen.
type Element struct {
	Ref    string // "e1", "e2" … in the order of the tree; means something only in its own Scene
	ID     string // the app's own name for it; "" for none, and not always unique
	Role   string // "button", "text", "field", "switch" …
	Text   string // what it shows; always "" for a password field
	Label  string // its description or hint
	Bounds Rect
	Flags  Flags
}

// Flags are the states of an element.
type Flags uint16

// The flags.
const (
	Clickable Flags = 1 << iota
	Editable
	Checkable
	Checked
	Focused
	Scrollable
	Selected
	Disabled
	Password
)

var flagNames = []string{"clickable", "editable", "checkable", "checked", "focused", "scrollable", "selected", "disabled", "password"}

// Has reports whether all of want are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// Names lists the flags that are set, in a fixed order.
func (f Flags) Names() []string {
	var names []string
	for i, n := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// Actionable reports whether an action can be aimed at the element.
func (e Element) Actionable() bool {
	return !e.Flags.Has(Disabled) && e.Flags&(Clickable|Editable|Checkable|Scrollable) != 0
}

// Same reports whether o is the same thing as e at the same place in the same
// readiness. What a field holds, and whether something is checked, focused or
// selected, may differ.
func (e Element) Same(o Element) bool {
	const kind = Clickable | Editable | Checkable | Scrollable | Disabled | Password
	return e.ID == o.ID && e.Role == o.Role && e.Label == o.Label && e.Bounds == o.Bounds &&
		e.Flags&kind == o.Flags&kind && (e.Flags.Has(Editable) || e.Text == o.Text)
}

// Shows reports whether s and o show the same, as far as their drivers can
// tell: their hashes are equal and, where the app draws without describing what
// it draws, their pictures show the same too. A picture that is missing there
// tells nothing of a change.
func (s *Scene) Shows(o *Scene) bool {
	if s.Hash != o.Hash {
		return false
	}
	return !s.Opaque || s.Screenshot == nil || o.Screenshot == nil || s.Screenshot.Shows(o.Screenshot)
}

// Element returns the element with that ref.
func (s *Scene) Element(ref string) (Element, bool) {
	if len(ref) < 2 || ref[0] != 'e' {
		return Element{}, false
	}
	n, err := strconv.Atoi(ref[1:])
	if err != nil || n < 1 || n > len(s.Elements) || s.Elements[n-1].Ref != ref {
		return Element{}, false
	}
	return s.Elements[n-1], true
}

// Find returns the element of s that is the Same as e.
func (s *Scene) Find(e Element) (Element, bool) {
	for _, o := range s.Elements {
		if e.Same(o) {
			return o, true
		}
	}
	return Element{}, false
}

// At lists the actionable elements under p, in the order of the tree.
func (s *Scene) At(p Point) []Element {
	var under []Element
	for _, e := range s.Elements {
		if e.Actionable() && e.Bounds.Contains(p) {
			under = append(under, e)
		}
	}
	return under
}

// Seal turns what a driver read into a Scene: it bounds and repairs every
// value, drops elements of which nobody could see enough to aim at, forgets
// the text of password fields and the picture of a secure screen, numbers the
// elements and computes the hash. The driver must not use s afterwards.
func Seal(s Scene) Scene {
	s.App, s.Tree = Clean(s.App, MaxTextRunes), Tree(Clean(string(s.Tree), maxTreeRunes))
	s.Size = Size{min(max(s.Size.W, 0), MaxEdge), min(max(s.Size.H, 0), MaxEdge)}
	if s.Secure {
		s.Screenshot = nil
	}
	kept := make([]Element, 0, min(len(s.Elements), MaxElements))
	s.Dropped = 0
	for _, e := range s.Elements {
		whole := e.Bounds
		e.Bounds = whole.Clip(s.Size)
		if e.Bounds.area() < minArea {
			continue
		}
		if len(kept) == MaxElements || !visible(e.Bounds, whole, s.Size) {
			s.Dropped++
			continue
		}
		kept = append(kept, sealElement(e, len(kept)+1))
	}
	s.Elements = kept
	s.Hash = s.sum()
	return s
}

// visible reports whether enough of an element is on the screen: a tenth of
// it, or so much that it takes up a tenth of the screen, as a long list does.
func visible(shown, whole Rect, screen Size) bool {
	return 10*shown.area() >= whole.area() || 10*shown.area() >= screen.W*screen.H
}

func sealElement(e Element, n int) Element {
	e.Ref = "e" + strconv.Itoa(n)
	if e.Flags.Has(Password) {
		e.Text = ""
	}
	e.ID, e.Role = Clean(e.ID, MaxTextRunes), Clean(e.Role, 40)
	e.Text, e.Label = Clean(e.Text, MaxTextRunes), Clean(e.Label, MaxTextRunes)
	return e
}

// sum hashes length-prefixed fields, so that no two scenes share an encoding.
func (s *Scene) sum() string {
	h := sha256.New()
	var buf []byte
	buf = appendText(appendText(buf, s.App), string(s.Tree))
	buf = appendInts(buf, s.Size.W, s.Size.H, s.Rotation, truth(s.KeyboardShown), truth(s.Secure), truth(s.Opaque), len(s.Elements))
	for _, e := range s.Elements {
		buf = appendText(appendText(appendText(appendText(buf, e.ID), e.Role), e.Text), e.Label)
		buf = appendInts(buf, e.Bounds.X0, e.Bounds.Y0, e.Bounds.X1, e.Bounds.Y1, int(e.Flags))
		buf = drain(h, buf)
	}
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}

// drain writes buf to h once it is worth a call and returns what is left.
func drain(h hash.Hash, buf []byte) []byte {
	if len(buf) < 4096 {
		return buf
	}
	h.Write(buf)
	return buf[:0]
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendInts(b []byte, ns ...int) []byte {
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
