package adbdtest

import (
	"bytes"
	"regexp"
	"strings"
	"time"
)

// result is what a command wrote and how it ended.
type result struct {
	out, err []byte
	exit     int
}

func says(text string) result             { return result{out: []byte(text)} }
func complains(exit int, s string) result { return result{err: []byte(s), exit: exit} }

// check is the check of the boot in front of a command.
var check = regexp.MustCompile(`^read -r b </proc/sys/kernel/random/boot_id; \[ "\$b" = '([^']*)' \] \|\| exit (\d+); `)

const restarted = 93

// run answers one command over its stream.
func (p *Phone) run(s *stream, line string) {
	p.mu.Lock()
	wanted := ""
	if m := check.FindStringSubmatch(line); m != nil {
		wanted, line = m[1], line[len(m[0]):]
	}
	if wanted != "" && wanted != p.boot {
		p.mu.Unlock()
		p.deliver(s, result{exit: restarted}, Reply{})
		return
	}
	p.commands = append(p.commands, line)
	reply, planned := p.planned(line)
	var r result
	if !planned || reply.After || reply.Edit != nil {
		r = p.script(line)
	}
	p.mu.Unlock()
	if planned {
		r = reply.apply(r)
	}
	p.deliver(s, r, reply)
}

func (r Reply) apply(done result) result {
	out := append([]byte(r.Out), done.out...)
	if r.Edit != nil {
		out = r.Edit(out)
	}
	if r.Exit != 0 {
		done.exit = r.Exit
	}
	return result{out, append([]byte(r.Err), done.err...), done.exit}
}

// deliver writes a result the way that reply says.
func (p *Phone) deliver(s *stream, r result, how Reply) {
	if !p.awake(s.link) {
		return
	}
	if how.Drip > 0 {
		if !drip(s, r.out, how.Drip) {
			return
		}
	} else if len(r.out) > 0 && s.packet(packetOut, r.out) != nil {
		return
	}
	switch {
	case how.Die:
		p.Drop()
		return
	case how.Hang:
		<-s.ctx.Done()
		return
	}
	if len(r.err) > 0 && s.packet(packetErr, r.err) != nil {
		return
	}
	s.packet(packetExit, []byte{byte(r.exit)})
}

// drip writes a few bytes at a time.
func drip(s *stream, b []byte, pause time.Duration) bool {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for part := range bytes.SplitSeq(b, []byte("\n")) {
		if s.packet(packetOut, append(part, '\n')) != nil {
			return false
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return false
		}
	}
	return true
}

// script runs commands joined by ";" and "&&". The caller holds mu.
func (p *Phone) script(line string) (all result) {
	if strings.HasPrefix(line, "f=/data/local/tmp/") { // a dump by way of a file
		return p.dump(false)
	}
	for part := range strings.SplitSeq(line, "; ") {
		for one := range strings.SplitSeq(part, " && ") {
			r := p.command(words(one))
			all.out, all.err, all.exit = append(all.out, r.out...), append(all.err, r.err...), r.exit
			if r.exit != 0 {
				break
			}
		}
	}
	return all
}

// words splits a command as a shell does that knows spaces and single quotes.
func words(line string) (out []string) {
	var word strings.Builder
	quoted, started := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, started = !quoted, true
		case c == '\\' && !quoted && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			started = true
		case c == ' ' && !quoted:
			if started {
				out = append(out, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if started {
		out = append(out, word.String())
	}
	return out
}

// programs are the phone's, by name.
var programs = map[string]func(*Phone, []string) result{
	"cat":         (*Phone).cat,
	"echo":        func(_ *Phone, a []string) result { return says(strings.Join(a, " ") + "\n") },
	"getprop":     (*Phone).getprop,
	"input":       (*Phone).input,
	"uiautomator": (*Phone).uiautomator,
	"screencap":   (*Phone).screencap,
	"wm":          (*Phone).wm,
	"dumpsys":     (*Phone).dumpsys,
	"cmd":         (*Phone).cmd,
	"am":          (*Phone).am,
	"ime":         (*Phone).ime,
	"settings":    (*Phone).settings,
	"pm":          (*Phone).pm,
}

func (p *Phone) command(argv []string) result {
	if len(argv) == 0 {
		return result{}
	}
	run, ok := programs[argv[0]]
	if !ok {
		return complains(127, "/system/bin/sh: "+argv[0]+": inaccessible or not found\n")
	}
	return run(p, argv[1:])
}

func (p *Phone) cat(a []string) result {
	if len(a) == 1 && a[0] == "/proc/sys/kernel/random/boot_id" {
		return says(p.boot + "\n")
	}
	return complains(1, "cat: No such file or directory\n")
}

func (p *Phone) getprop(a []string) result {
	return says(map[string]string{"ro.product.model": "Notes One", "ro.build.version.release": "14"}[strings.Join(a, " ")] + "\n")
}
