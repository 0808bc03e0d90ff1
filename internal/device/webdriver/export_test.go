package webdriver

import (
	"context"
	"net/http"
)

// Kill ends the driver and the browser as a crash would.
func (b *Browser) Kill() { b.stop() }

// Turn gives the browser another screen, turned by so many degrees.
func (b *Browser) Turn(ctx context.Context, width, height int, ratio float64, angle int) error {
	kind := map[int]string{0: "portraitPrimary", 90: "landscapePrimary", 180: "portraitSecondary", 270: "landscapeSecondary"}[angle]
	return b.session.call(ctx, http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setDeviceMetricsOverride", "params": map[string]any{
		"width": width, "height": height, "deviceScaleFactor": ratio, "mobile": true, "screenOrientation": map[string]any{"type": kind, "angle": angle},
	}}, nil)
}
