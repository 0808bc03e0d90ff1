package android

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"

	"interlock/internal/device"
)

var pngStart = []byte("\x89PNG\r\n\x1a\n")

// errNoPicture is a phone that sent no picture.
var errNoPicture = errors.New("adb: screencap wrote no picture")

// capture takes a picture as PNG. On a phone with several displays screencap
// takes any of them and warns; the first that the phone lists is asked for then.
func (p *Phone) capture(ctx context.Context) ([]byte, error) {
	command := "screencap -p"
	if p.display != "" {
		command = "screencap -p -d " + p.display
	}
	o, err := p.shell(ctx, p.limits.screen, command)
	if err != nil {
		return nil, err
	}
	if p.display == "" && (bytes.Contains(o.out[:min(len(o.out), maxSaid)], []byte("Multiple displays")) || bytes.Contains([]byte(o.said), []byte("Multiple displays"))) {
		if p.display = p.firstDisplay(ctx); p.display != "" {
			return p.capture(ctx)
		}
	}
	at := bytes.Index(o.out, pngStart)
	if at < 0 {
		return nil, errNoPicture
	}
	return o.out[at:], nil
}

func (p *Phone) firstDisplay(ctx context.Context) string {
	o, err := p.shell(ctx, p.limits.ask, "dumpsys SurfaceFlinger --display-id")
	if ids := readDisplays(string(o.out)); err == nil && len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// upright reports whether the picture stands the way a screen of that size
// does: one that is turned was taken before or after the rest was read.
func upright(picture []byte, screen device.Size) bool {
	c, err := png.DecodeConfig(bytes.NewReader(picture))
	return err == nil && (c.Width > c.Height) == (screen.W > screen.H)
}

// maxBlackPixels is the largest picture that is looked at for being black.
const maxBlackPixels = 64 << 20

// black reports whether all of the picture is black, as that of a secure
// screen is.
func black(picture []byte) bool {
	c, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || c.Width*c.Height > maxBlackPixels {
		return false
	}
	decoded, err := png.Decode(bytes.NewReader(picture))
	return err == nil && allBlack(decoded)
}

func allBlack(i image.Image) bool {
	b := i.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, b, _ := i.At(x, y).RGBA(); r|g|b != 0 {
				return false
			}
		}
	}
	return true
}
