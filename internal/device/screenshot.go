package device

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
)

// Limits of a screenshot before anybody sees it.
const (
	DefaultImageEdge = 1568             // longest edge in pixels
	MaxImageBytes    = 3_900_000        // encoded
	maxSourceBytes   = 64 << 20         // as the phone sent it
	maxSourcePixels  = 64 * 1000 * 1000 // decoded
	aspectTolerance  = 10               // in thousandths: how far the picture's shape may be from the screen's
)

// Screenshot is a picture of the screen, scaled once. It has no text form:
// printing or marshalling one shows its size, never its bytes.
type Screenshot struct {
	bytes     []byte
	Transform Transform
}

// Transform maps a pixel of the picture to the screen, exactly: each axis has
// its own ratio of whole numbers, and nothing is rounded before the end.
type Transform struct {
	Image  Size // of the scaled picture
	Device Size // of the screen when it was taken
}

// ToDevice returns the point of the screen under the middle of the picture's
// pixel p, and false if p is not in the picture.
func (t Transform) ToDevice(p Point) (Point, bool) {
	if !t.Image.Contains(p) || !t.Device.Contains(Point{}) {
		return Point{}, false
	}
	return Point{middle(p.X, t.Device.W, t.Image.W), middle(p.Y, t.Device.H, t.Image.H)}, true
}

// middle scales the middle of pixel i from a range of length from to one of
// length to, rounded down.
func middle(i, to, from int) int { return (2*i + 1) * to / (2 * from) }

// NewScreenshot reads the PNG or JPEG picture that a phone made of a screen of
// size screen, and scales it so that its longest edge is at most maxEdge
// (DefaultImageEdge where that is 0) and its bytes at most MaxImageBytes. A
// picture of another shape than the screen is refused, since nobody could tell
// where its pixels are; so is one that is turned.
func NewScreenshot(encoded []byte, screen Size, maxEdge int) (*Screenshot, error) {
	if len(encoded) > maxSourceBytes {
		return nil, fmt.Errorf("the screenshot is larger than %d bytes", maxSourceBytes)
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(encoded))
	if err != nil || (format != "png" && format != "jpeg") {
		return nil, errors.New("the screenshot is not a PNG or JPEG picture")
	}
	if cfg.Width*cfg.Height > maxSourcePixels || cfg.Width > MaxEdge || cfg.Height > MaxEdge {
		return nil, fmt.Errorf("the screenshot is larger than %d pixels", maxSourcePixels)
	}
	if !sameShape(Size{cfg.Width, cfg.Height}, screen) {
		return nil, fmt.Errorf("the screenshot is %dx%d and the screen %dx%d: not the same shape", cfg.Width, cfg.Height, screen.W, screen.H)
	}
	if maxEdge <= 0 {
		maxEdge = DefaultImageEdge
	}
	size := fit(Size{cfg.Width, cfg.Height}, maxEdge)
	if (size == Size{cfg.Width, cfg.Height}) && len(encoded) <= MaxImageBytes {
		return &Screenshot{bytes: encoded, Transform: Transform{Image: size, Device: screen}}, nil
	}
	picture, _, err := image.Decode(bytes.NewReader(encoded))
	if err != nil {
		return nil, errors.New("the screenshot is damaged")
	}
	return shrink(picture, size, screen)
}

// shrink scales picture to size and encodes it as PNG, as JPEG where that is
// too large, and at half the size where that is too large as well.
func shrink(picture image.Image, size, screen Size) (*Screenshot, error) {
	for ; size.W > 0 && size.H > 0; size = (Size{size.W / 2, size.H / 2}) {
		scaled := image.NewRGBA(image.Rect(0, 0, size.W, size.H))
		draw.ApproxBiLinear.Scale(scaled, scaled.Bounds(), picture, picture.Bounds(), draw.Src, nil)
		for _, encode := range []func(*bytes.Buffer, image.Image) error{asPNG, asJPEG} {
			var buf bytes.Buffer
			if err := encode(&buf, scaled); err != nil {
				return nil, fmt.Errorf("encode the screenshot: %w", err)
			}
			if buf.Len() <= MaxImageBytes {
				return &Screenshot{bytes: buf.Bytes(), Transform: Transform{Image: size, Device: screen}}, nil
			}
		}
	}
	return nil, errors.New("the screenshot can't be made small enough")
}

func asPNG(b *bytes.Buffer, i image.Image) error {
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(b, i)
}

func asJPEG(b *bytes.Buffer, i image.Image) error {
	return jpeg.Encode(b, i, &jpeg.Options{Quality: 80})
}

// fit scales s down so that no edge is longer than edge; no edge becomes 0.
func fit(s Size, edge int) Size {
	longest := max(s.W, s.H)
	if longest <= edge {
		return s
	}
	return Size{max(1, (s.W*edge+longest/2)/longest), max(1, (s.H*edge+longest/2)/longest)}
}

// sameShape compares the ratios of the edges, within the rounding that scaled
// screens show.
func sameShape(a, b Size) bool {
	if a.W <= 0 || a.H <= 0 || b.W <= 0 || b.H <= 0 {
		return false
	}
	cross, other := a.W*b.H, a.H*b.W
	return max(cross, other)-min(cross, other) <= max(cross, other)*aspectTolerance/1000
}

// Bytes returns the encoded picture. Only the planner may hand it on.
func (s *Screenshot) Bytes() []byte { return s.bytes }

// Bounds of what two pictures may differ by and still show the same.
const (
	sameChannel = 16 // of a pixel's red, green or blue, of 255
	sameShare   = 5  // of the pixels, in thousandths: a clock may tick
)

// Shows reports whether s and o show the same: they are of one size, and at
// most 0.5 % of their pixels differ by more than a shade. Pictures that can't
// be read show nothing that is the same.
func (s *Screenshot) Shows(o *Screenshot) bool {
	if bytes.Equal(s.bytes, o.bytes) {
		return true
	}
	a, errA := s.pixels()
	b, errB := o.pixels()
	if errA != nil || errB != nil || a.Rect != b.Rect {
		return false
	}
	differ := 0
	for i := 0; i+3 < len(a.Pix); i += 4 {
		for c := range 3 {
			if x, y := a.Pix[i+c], b.Pix[i+c]; max(x, y)-min(x, y) > sameChannel {
				differ++
				break
			}
		}
	}
	return differ*1000 <= sameShare*a.Rect.Dx()*a.Rect.Dy()
}

// pixels decodes the picture.
func (s *Screenshot) pixels() (*image.RGBA, error) {
	picture, _, err := image.Decode(bytes.NewReader(s.bytes))
	if err != nil {
		return nil, err
	}
	out := image.NewRGBA(image.Rect(0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()))
	draw.Draw(out, out.Rect, picture, picture.Bounds().Min, draw.Src)
	return out, nil
}

// String, GoString and MarshalText never show the picture.
func (s *Screenshot) String() string {
	return fmt.Sprintf("[screenshot %dx%d]", s.Transform.Image.W, s.Transform.Image.H)
}
func (s *Screenshot) GoString() string             { return s.String() }
func (s *Screenshot) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
