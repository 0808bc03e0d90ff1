package device_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/device"
)

func picture(w, h int) []byte {
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func TestScreenshotsAreScaledOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w, h   int
		screen device.Size
		edge   int
		want   device.Size // zero: refused
	}{
		"small enough stays":        {360, 780, device.Size{W: 1080, H: 2340}, 0, device.Size{W: 360, H: 780}},
		"large is scaled":           {1080, 2400, device.Size{W: 1080, H: 2400}, 0, device.Size{W: 706, H: 1568}},
		"to the edge that is asked": {1080, 2400, device.Size{W: 1080, H: 2400}, 1000, device.Size{W: 450, H: 1000}},
		"rounded up by a browser":   {1082, 2402, device.Size{W: 412, H: 915}, 0, device.Size{W: 706, H: 1568}},
		"a thin one keeps an edge":  {1, 4000, device.Size{W: 1, H: 4000}, 100, device.Size{W: 1, H: 100}},
		"turned is refused":         {2400, 1080, device.Size{W: 1080, H: 2400}, 0, device.Size{}},
		"another shape is refused":  {1080, 2160, device.Size{W: 1080, H: 2400}, 0, device.Size{}},
		"no screen is refused":      {10, 10, device.Size{}, 0, device.Size{}},
		"too wide to decode":        {40000, 1, device.Size{W: 40000, H: 1}, 0, device.Size{}},
	} {
		s, err := device.NewScreenshot(picture(c.w, c.h), c.screen, c.edge)
		if (err != nil) != (c.want == device.Size{}) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		cfg, _, err := image.DecodeConfig(bytes.NewReader(s.Bytes()))
		if err != nil || s.Transform.Image != c.want || cfg.Width != c.want.W || cfg.Height != c.want.H || s.Transform.Device != c.screen {
			t.Errorf("%s: got %+v, %dx%d, %v", name, s.Transform, cfg.Width, cfg.Height, err)
		}
	}
	for _, b := range [][]byte{nil, []byte("[Warning] Multiple displays"), []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), picture(2000, 2000)[:200]} {
		if s, err := device.NewScreenshot(b, device.Size{W: 9, H: 9}, 0); err == nil {
			t.Errorf("%.20q became %v", b, s)
		}
	}
}

func TestAScreenshotThatCompressesBadlyStaysInItsBytes(t *testing.T) {
	t.Parallel()
	const edge = 1160
	img := image.NewRGBA(image.Rect(0, 0, edge, edge))
	rand.NewChaCha8([32]byte{}).Read(img.Pix)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil || buf.Len() < device.MaxImageBytes {
		t.Fatalf("the source is %d bytes, %v", buf.Len(), err)
	}
	s, err := device.NewScreenshot(buf.Bytes(), device.Size{W: edge, H: edge}, 0)
	if err != nil || len(s.Bytes()) > device.MaxImageBytes {
		t.Fatalf("got %v, %v", s, err)
	}
}

// R-RUN-4: a tap on a pixel of the picture lands under that pixel.
func TestTransformIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Custom(func(t *rapid.T) device.Size {
			return device.Size{W: rapid.IntRange(1, 4000).Draw(t, "w"), H: rapid.IntRange(1, 4000).Draw(t, "h")}
		})
		tr := device.Transform{Image: size.Draw(t, "image"), Device: size.Draw(t, "device")}
		p := device.Point{X: rapid.IntRange(-2, 4001).Draw(t, "x"), Y: rapid.IntRange(-2, 4001).Draw(t, "y")}
		got, ok := tr.ToDevice(p)
		if ok != tr.Image.Contains(p) {
			t.Fatalf("%v in %v: %v", p, tr.Image, ok)
		}
		if !ok {
			return
		}
		// The device pixel holds the middle of the picture's pixel.
		inside := func(d, i, dev, img int) bool { return 2*d*img <= (2*i+1)*dev && (2*i+1)*dev < 2*(d+1)*img }
		if !tr.Device.Contains(got) || !inside(got.X, p.X, tr.Device.W, tr.Image.W) || !inside(got.Y, p.Y, tr.Device.H, tr.Image.H) {
			t.Fatalf("%v became %v", p, got)
		}
	})
}

// R-CLOUD-5
func TestAScreenshotNeverPrints(t *testing.T) {
	t.Parallel()
	s, err := device.NewScreenshot(picture(3, 2), device.Size{W: 3, H: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	scene := device.Seal(device.Scene{Size: device.Size{W: 3, H: 2}, Screenshot: s})
	b, err := json.Marshal(scene)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fmt.Sprintf("%v %+v %#v", s, scene, scene), string(b)} {
		if strings.Contains(out, "IHDR") || strings.Contains(out, "iVBOR") || !strings.Contains(out, "3x2") && strings.Contains(out, "screenshot") {
			t.Errorf("prints %s", out)
		}
	}
}

// shaded is a picture of 100 x 200 whose first n pixels are of another shade.
func shaded(t *testing.T, n int, shade uint8) *device.Screenshot {
	t.Helper()
	g := image.NewGray(image.Rect(0, 0, 100, 200))
	for i := range n {
		g.Pix[i] = shade
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, g); err != nil {
		t.Fatal(err)
	}
	s, err := device.NewScreenshot(buf.Bytes(), device.Size{W: 100, H: 200}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// R-RUN-4: a picture changed if more than a clock did.
func TestPicturesThatShowTheSame(t *testing.T) {
	t.Parallel()
	small, err := device.NewScreenshot(picture(50, 100), device.Size{W: 100, H: 200}, 0)
	if err != nil {
		t.Fatal(err)
	}
	plain := shaded(t, 0, 0)
	for name, c := range map[string]struct {
		other *device.Screenshot
		want  bool
	}{
		"the same":            {shaded(t, 0, 0), true},
		"half a percent":      {shaded(t, 100, 255), true},
		"a pixel more":        {shaded(t, 101, 255), false},
		"a shade everywhere":  {shaded(t, 20000, 16), true},
		"two shades":          {shaded(t, 20000, 17), false},
		"another size":        {small, false},
		"one that is damaged": {&device.Screenshot{}, false},
	} {
		if got := plain.Shows(c.other); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
		scene := func(shot *device.Screenshot, opaque bool) device.Scene {
			return device.Seal(device.Scene{App: "a.b", Size: device.Size{W: 100, H: 200}, Opaque: opaque, Screenshot: shot})
		}
		opaque, described := scene(plain, true), scene(plain, false)
		if other := scene(c.other, true); opaque.Shows(&other) != c.want {
			t.Errorf("%s, on a screen that is drawn: got %v", name, !c.want)
		}
		if other := scene(c.other, false); !described.Shows(&other) {
			t.Errorf("%s: on a screen that is described the picture counts", name)
		}
		if other := scene(nil, true); !opaque.Shows(&other) {
			t.Errorf("%s: a picture that is missing counts", name)
		}
	}
}
