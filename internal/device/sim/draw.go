package sim

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"interlock/internal/device"
)

// pixelsPer is how many pixels of the screen make one of its picture.
const pixelsPer = 3

// The colours, light and dark.
var (
	light = color.Palette{color.Gray{245}, color.Gray{20}, color.RGBA{200, 215, 245, 255}, color.RGBA{40, 150, 70, 255}, color.Gray{190}}
	dark  = color.Palette{color.Gray{25}, color.Gray{235}, color.RGBA{50, 65, 100, 255}, color.RGBA{80, 200, 120, 255}, color.Gray{80}}
)

// What the entries of a palette are for.
const (
	paper = iota
	ink
	pressable
	on
	keys
)

// draw paints the widgets as boxes with their texts, in PNG. What the font
// lacks, such as an emoji, shows as a box of its own.
func (p *Phone) draw(all []placed) []byte {
	palette := light
	if p.switches["dark"] {
		palette = dark
	}
	size := p.size()
	img := image.NewPaletted(image.Rect(0, 0, size.W/pixelsPer, size.H/pixelsPer), palette)
	for _, w := range all {
		box := image.Rect(w.at.X0/pixelsPer, w.at.Y0/pixelsPer, w.at.X1/pixelsPer, w.at.Y1/pixelsPer).Inset(1)
		fill(img, box, background(w.flags))
		if !w.flags.Has(device.Password) {
			write(img, box, w.text+pickLabel(w))
		}
	}
	if p.keyboard {
		fill(img, image.Rect(0, p.floor()/pixelsPer, size.W/pixelsPer, size.H/pixelsPer), keys)
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err) // a buffer takes everything, and the picture is not empty
	}
	return buf.Bytes()
}

// pickLabel is the label where there is no text.
func pickLabel(w placed) string {
	if w.text != "" {
		return ""
	}
	return w.label
}

func background(f device.Flags) int {
	switch {
	case f.Has(device.Checked):
		return on
	case f&(device.Clickable|device.Editable) != 0:
		return pressable
	}
	return paper
}

func fill(img *image.Paletted, r image.Rectangle, index int) {
	draw.Draw(img, r, image.NewUniform(img.Palette[index]), image.Point{}, draw.Src)
}

func write(img *image.Paletted, box image.Rectangle, text string) {
	d := font.Drawer{Dst: img, Src: image.NewUniform(img.Palette[ink]), Face: basicfont.Face7x13,
		Dot: fixed.P(box.Min.X+6, (box.Min.Y+box.Max.Y)/2+4)}
	d.DrawString(text)
}
