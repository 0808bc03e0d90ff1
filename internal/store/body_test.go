package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"interlock/internal/tool"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		got, err := Unpack(Pack(body))
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("Unpack(Pack(%x)) = %x, %v", body, got, err)
		}
		if over := len(Pack(body)) - len(body); over > 1 {
			t.Fatalf("packing %d bytes added %d", len(body), over)
		}
	})
}

// Bodies are built out of pieces of the base, so that copies happen.
func TestWhatIsPackedAgainstABaseComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := []byte(rapid.StringMatching(`([a-c]{5,30}\n){0,20}`).Draw(t, "base"))
		var body []byte
		for range rapid.IntRange(0, 8).Draw(t, "pieces") {
			if len(base) > 0 && rapid.Bool().Draw(t, "copied") {
				from := rapid.IntRange(0, len(base)-1).Draw(t, "from")
				body = append(body, base[from:rapid.IntRange(from, len(base)).Draw(t, "to")]...)
			} else {
				body = append(body, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "literal")...)
			}
		}
		got, err := UnpackAgainst(base, PackAgainst(base, body))
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("base %q body %q: got %q, %v", base, body, got, err)
		}
	})
}

func TestADamagedBodyIsAnErrorAndNeverAPanic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOf(rapid.Byte()).Draw(t, "base")
		damaged := rapid.SliceOf(rapid.Byte()).Draw(t, "damaged")
		if body, err := UnpackAgainst(base, damaged); err == nil && len(body) > MaxBody {
			t.Fatalf("a body of %d bytes came out of %d", len(body), len(damaged))
		}
		if specs, err := DecodeTools(damaged); err == nil && len(specs) > len(damaged) {
			t.Fatalf("%d tools came out of %d bytes", len(specs), len(damaged))
		}
	})
	for _, packed := range [][]byte{nil, {7}, {formZstd, 1, 2}} {
		if _, err := Unpack(packed); err == nil {
			t.Errorf("Unpack(%x) gave no error", packed)
		}
	}
}

// A frame may promise more than it may unpack to.
func TestABombIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Unpack(Pack(make([]byte, MaxBody+1))); err == nil {
		t.Error("a body above MaxBody was unpacked")
	}
	long := Pack([]byte(strings.Repeat("\x00\xff\xff\x03\x00", 4096))) // copies of 64 KiB, one after the other
	if _, err := UnpackAgainst(make([]byte, 64<<10), long); err == nil {
		t.Error("a difference above MaxBody was applied")
	}
}

func TestToolsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	specs := []tool.Spec{
		{Name: "tap", Description: "taps", Parameters: []byte("{ \"type\" :\n\"object\" }")},
		{Name: "wait", Parameters: []byte(`{}`)},
	}
	got, err := DecodeTools(EncodeTools(specs))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(specs, got); d != "" {
		t.Error(d)
	}
}

// prompt resembles what a host builds: a goal, the screen, what was done.
func prompt(step int) string {
	var b strings.Builder
	b.WriteString("Goal: turn on dark mode in Settings and report the state\n\nScreen 1080x2400, app com.example.settings\n")
	for i := range 45 {
		fmt.Fprintf(&b, "[%d] switch %q id=%d bounds=(%d,%d)-(%d,%d) clickable\n", i, fmt.Sprintf("Setting number %d", i+step*3), i*7919%100, i*13, i*40-step*17, i*13+300, i*40+80-step*17)
	}
	b.WriteString("\nDone so far:\n")
	for i := range step {
		fmt.Fprintf(&b, "%d. swipe {\"direction\":\"up\"} -> the screen moved\n", i)
	}
	return b.String()
}

func TestAPromptPackedAgainstTheFirstIsAFifthOfItsText(t *testing.T) {
	t.Parallel()
	first := []byte(prompt(0))
	raw, packed := 0, 0
	for step := range 10 {
		p := []byte(prompt(step))
		raw += len(p)
		packed += len(PackAgainst(first, p))
	}
	if packed*5 > raw {
		t.Errorf("%d bytes of prompts took %d", raw, packed)
	}
	t.Logf("%d bytes of prompts took %d (1/%.1f), alone %d", raw, packed, float64(raw)/float64(packed), len(Pack(first)))
}

func BenchmarkPack(b *testing.B) {
	first, p := []byte(prompt(0)), []byte(prompt(7))
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			Pack(p)
		}
	})
	b.Run("against", func(b *testing.B) {
		for b.Loop() {
			PackAgainst(first, p)
		}
	})
}
