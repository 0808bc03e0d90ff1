package webdriver

// Kill ends the driver and the browser as a crash would.
func (b *Browser) Kill() { b.stop() }
