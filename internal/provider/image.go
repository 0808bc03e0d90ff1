package provider

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"

	"interlock/internal/llm"
)

// ImageLimits is what a vendor takes of a picture. The rows below are data,
// because vendors move them.
type ImageLimits struct {
	Source     string // where the row comes from
	MediaTypes []string
	MaxBase64  int // characters of the encoded text, which is what vendors count
	MaxEdge    int // pixels of the longer side; zero: none known
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// The vendors' limits. Neither was checked against a live API.
var (
	AnthropicImages = ImageLimits{
		Source:     "anthropics/claude-code issues 11181 and 8227 for the size (base64 is counted, not bytes), issue 4778 for the edge",
		MediaTypes: imageTypes, MaxBase64: 5 << 20, MaxEdge: 8000,
	}
	OpenAIImages = ImageLimits{
		Source:     "20 MB an image, as OpenAI's image guide is cited in openai/openai-agents-python pull request 553",
		MediaTypes: imageTypes, MaxBase64: 20_000_000,
	}
)

// check refuses a picture that the vendor would refuse, before it is sent. The
// picture is never rescaled here: whoever took it keeps the transform from its
// pixels to the device's, and only they can.
func (l ImageLimits) check(i *llm.Image) error {
	if i == nil {
		return nil
	}
	b := i.Bytes()
	switch {
	case !slices.Contains(l.MediaTypes, i.MediaType):
		return fmt.Errorf("the screenshot is %s, which the provider doesn't read; send PNG, JPEG, GIF or WebP", i.MediaType)
	case http.DetectContentType(b) != i.MediaType:
		return fmt.Errorf("the screenshot's bytes are not %s as declared", i.MediaType)
	case base64.StdEncoding.EncodedLen(len(b)) > l.MaxBase64:
		return fmt.Errorf("the screenshot is %d bytes, and the provider takes %d at most; lower the image edge setting", len(b), base64.StdEncoding.DecodedLen(l.MaxBase64))
	case l.MaxEdge > 0 && max(i.Width, i.Height) > l.MaxEdge:
		return fmt.Errorf("the screenshot is %dx%d pixels, and the provider takes %d a side at most; lower the image edge setting", i.Width, i.Height, l.MaxEdge)
	}
	return nil
}
