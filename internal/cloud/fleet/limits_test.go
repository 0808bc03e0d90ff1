package fleet

import (
	"fmt"
	"strings"
	"testing"

	"interlock/internal/fault"
)

// R-HOST-2: what a host says of itself is a stranger's word.
func TestHostileNewsIsRefused(t *testing.T) {
	t.Parallel()
	phone := Device{ID: "emulator-5554", Kind: "android", Name: "Pixel 9 📱", Labels: map[string]string{"os/version": "17"}}
	many := func(n int) (out []Device) {
		for i := range n {
			out = append(out, Device{ID: fmt.Sprint("d", i), Kind: "sim"})
		}
		return out
	}
	labels := map[string]string{}
	for i := range MaxLabels + 1 {
		labels[fmt.Sprint("l", i)] = ""
	}
	for name, c := range map[string]struct {
		news Seen
		want string // "": accepted
	}{
		"a phone with a name and labels":    {Seen{Devices: []Device{phone}, SlotsFree: 1, Version: "1.0"}, ""},
		"nothing at all":                    {Seen{}, ""},
		"as many devices as may be":         {Seen{Devices: many(MaxDevices)}, ""},
		"one device too many":               {Seen{Devices: many(MaxDevices + 1)}, "more than 256 devices"},
		"two devices with one id":           {Seen{Devices: []Device{phone, phone}}, "id of another"},
		"a device without an id":            {Seen{Devices: []Device{{Kind: "sim"}}}, "needs an id"},
		"an id that would draw on terminal": {Seen{Devices: []Device{{ID: "\x1b[2J", Kind: "sim"}}}, "needs an id"},
		"a kind with a space":               {Seen{Devices: []Device{{ID: "d", Kind: "a b"}}}, "needs a kind"},
		"a name with a line break":          {Seen{Devices: []Device{{ID: "d", Kind: "sim", Name: "a\nb"}}}, "name of device 0"},
		"a name that is not UTF-8":          {Seen{Devices: []Device{{ID: "d", Kind: "sim", Name: "\xff"}}}, "name of device 0"},
		"too many labels":                   {Seen{Devices: []Device{{ID: "d", Kind: "sim", Labels: labels}}}, "more than 32 labels"},
		"a label that is too long":          {Seen{Devices: []Device{{ID: "d", Kind: "sim", Labels: map[string]string{"l": strings.Repeat("x", 129)}}}}, "label l"},
		"a negative number of slots":        {Seen{SlotsFree: -1}, "slots_free"},
		"a version of a kilobyte":           {Seen{Version: strings.Repeat("1", 1024)}, "version"},
	} {
		err := checkNews(c.news)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Of(err).Detail, c.want)):
			t.Errorf("%s: got %v, want Invalid with %q", name, err, c.want)
		}
	}
	bad := make([]Device, MaxDevices)
	if err := checkNews(Seen{Devices: bad}); len(err.Error()) > 1200 {
		t.Errorf("a refusal of %d bytes", len(err.Error()))
	}
}
