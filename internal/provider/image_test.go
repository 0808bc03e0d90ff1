package provider

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"interlock/internal/llm"
)

// R-PLAN-5: a picture is refused here for what the vendor would refuse it for.
func TestPicturesAreCheckedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		width, bytes int
		declared     string // "" as sniffed
		limits       ImageLimits
		want         string // part of the refusal; "" for none
	}{
		"a small one":                                  {3, 0, "", AnthropicImages, ""},
		"exactly 5 MiB of base64":                      {3, 5 << 20 * 3 / 4, "", AnthropicImages, ""},
		"one byte more [claude-code 11181]":            {3, 5<<20*3/4 + 1, "", AnthropicImages, "takes 3932160 at most"},
		"the same for the other vendor":                {3, 5<<20*3/4 + 1, "", OpenAIImages, ""},
		"20 MB of base64 and more":                     {3, 15_000_001, "", OpenAIImages, "at most"},
		"exactly 8000 pixels":                          {8000, 0, "", AnthropicImages, ""},
		"8001 pixels [claude-code 4778]":               {8001, 0, "", AnthropicImages, "8001x2 pixels"},
		"declared as another type [claude-code 12041]": {3, 0, "image/jpeg", AnthropicImages, "not image/jpeg as declared"},
		"declared as a type that nobody reads":         {3, 0, "image/bmp", OpenAIImages, "send PNG"},
	} {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, c.width, 2))); err != nil {
			t.Fatal(err)
		}
		b.Write(make([]byte, max(0, c.bytes-b.Len())))
		picture, err := llm.NewImage(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if c.declared != "" {
			picture.MediaType = c.declared
		}
		err = c.limits.check(picture)
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if err := AnthropicImages.check(nil); err != nil {
		t.Errorf("no picture: %v", err)
	}
}
