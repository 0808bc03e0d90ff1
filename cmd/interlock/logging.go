package main

import "log/slog"

// logger writes to standard error as the settings say.
func (p *program) logger() *slog.Logger {
	options := &slog.HandlerOptions{Level: p.settings.logLevel}
	if p.settings.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.err, options))
	}
	return slog.New(slog.NewTextHandler(p.err, options))
}

// quietLogger is for commands whose output is for a person who looks on: it
// says what is wrong and no more, unless a level was asked for.
func (p *program) quietLogger() *slog.Logger {
	if p.settings.found["INTERLOCK_LOG_LEVEL"].source == "default" {
		p.settings.logLevel = slog.LevelWarn
	}
	return p.logger()
}
