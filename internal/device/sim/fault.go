package sim

import (
	"errors"
	"slices"

	"interlock/internal/device"
)

// Moment is the kind of call at which a Fault strikes.
type Moment string

// The moments.
const (
	AtObserve Moment = "observe"
	AtDo      Moment = "do"
	atInfo    Moment = "info"
)

// Trouble is what happens.
type Trouble string

// The troubles.
const (
	Lose         Trouble = "lose"         // the connection is gone before the call and stays gone
	LoseOnTheWay Trouble = "lose_way"     // the action is sent and never arrives, which nobody can tell from LoseDuring
	LoseDuring   Trouble = "lose_during"  // the action is carried out, and the connection goes before anybody hears of it
	Swallow      Trouble = "swallow"      // the phone takes the action and nothing comes of it
	Unauthorized Trouble = "unauthorized" // the phone asks its owner whether this host may drive it
	Hang         Trouble = "hang"         // no answer until the context ends
	Call         Trouble = "call"         // a dialog "Incoming call" comes up over whatever is shown
	Banner       Trouble = "banner"       // a line appears at the top and moves everything down
	Slide        Trouble = "slide"        // the screen slides in from below and is at rest after slideLooks looks
	Reorder      Trouble = "reorder"      // the rows turn round
	Twin         Trouble = "twin"         // above each row there is another that shows the same and is not it
	LookAlike    Trouble = "look_alike"   // in the place of each row there is another that shows the same and is not it
)

// slideLooks is how many looks see a screen that slides in on its way.
const slideLooks = 3

// Fault is one trouble, at the call of its kind after Skip others.
type Fault struct {
	At   Moment
	Skip int
	Do   Trouble
}

// Inject plans f. Several faults count their calls independently.
func (p *Phone) Inject(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
}

// errHang tells enter to wait; it never leaves the package.
var errHang = errors.New("hang")

// strike lets the faults that are due at this call happen.
func (p *Phone) strike(at Moment) error {
	if p.gone != nil {
		return device.Fail(p.gone.Fault, device.No)
	}
	var due []Trouble
	p.faults = slices.DeleteFunc(p.faults, func(f Fault) bool {
		if f.At == at && f.Skip == 0 {
			due = append(due, f.Do)
		}
		return f.At == at && f.Skip == 0
	})
	for i := range p.faults {
		if p.faults[i].At == at {
			p.faults[i].Skip--
		}
	}
	for _, t := range due {
		if err := p.suffer(t, at); err != nil {
			return err
		}
	}
	return nil
}

func (p *Phone) suffer(t Trouble, at Moment) error {
	switch t {
	case Lose:
		p.gone = device.Fail(device.ErrLost, device.No)
		return p.gone
	case LoseDuring:
		p.gone = device.Fail(device.ErrLost, dispatchedAt(at))
		if at == AtDo {
			return nil // carried out first
		}
		return p.gone
	case LoseOnTheWay:
		p.gone = device.Fail(device.ErrLost, dispatchedAt(at))
		return p.gone
	case Swallow:
		p.swallow = true
	case Slide:
		p.sliding = slideLooks
	case Reorder:
		p.reordered = true
	case Twin:
		p.twins = true
	case LookAlike:
		p.lookAlikes = true
	case Unauthorized:
		return device.Fail(device.ErrUnauthorized, device.No)
	case Hang:
		return errHang
	case Call:
		p.dialog = &dialog{title: "Incoming call", text: "Unknown caller", buttons: []widget{{id: "decline", text: "Decline", act: (*Phone).dismiss}}}
	case Banner:
		p.banner = true
	}
	return nil
}

// dispatchedAt is what can be known of a call that broke off.
func dispatchedAt(at Moment) device.Dispatched {
	if at == AtDo {
		return device.Unknown
	}
	return device.No
}
