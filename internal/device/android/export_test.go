package android

import "time"

// Hurried returns o with a patience that a test can wait out.
func Hurried(o Options, dump time.Duration) Options {
	o.limits = usualPatience
	o.limits.ask.time, o.limits.act.time, o.limits.dump.time, o.limits.screen.time = dump, dump, dump, dump
	return o
}

// ReadHierarchy reads a dump into the scene that it would give on a screen of
// that size.
var ReadHierarchy = readHierarchy
