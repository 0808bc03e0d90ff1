package device_test

import (
	"slices"
	"testing"

	"interlock/internal/device"
)

// R-RUN-6: what a step brought up goes by its ref on the screen after it.
func TestAChangeNamesFreshRefs(t *testing.T) {
	t.Parallel()
	save, back := button("Save", 0), button("Back", 40)
	pressed := back
	pressed.Flags |= device.Selected
	for name, c := range map[string]struct {
		before, after device.Scene
		want          []string
	}{
		"nothing changed":          {screen(save, back), screen(save, back), nil},
		"one more before the rest": {screen(save, back), screen(button("New", 80), save, back), []string{"e1"}},
		"one fewer":                {screen(save, back), screen(back), nil},
		"another state":            {screen(save, back), screen(save, pressed), []string{"e2"}},
		"moved":                    {screen(save), screen(button("Save", 20)), []string{"e1"}},
	} {
		if got := device.Compare(&c.before, &c.after).Fresh; !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
