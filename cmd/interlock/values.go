package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"interlock/internal/app"
	"interlock/internal/secret"
	"interlock/internal/serve"
)

// target parses a value into the field that it was made for. Its error
// completes the sentence "NAME …".
type target func(value string) error

// to makes the target of one field.
func to[T any](field *T, parse func(string) (T, error)) target {
	return func(value string) error {
		v, err := parse(value)
		if err != nil {
			return err
		}
		*field = v
		return nil
	}
}

// The parsers: each takes one kind of value.

func text(v string) (string, error) {
	if len(v) > 500 || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("must be one line of at most 500 characters")
	}
	return v, nil
}

func path(v string) (string, error) {
	if strings.ContainsRune(v, 0) {
		return "", fmt.Errorf("must be a path")
	}
	return v, nil
}

func hidden(v string) (secret.String, error) { return secret.New(v), nil }

func boolean(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "1", "true", "on", "yes":
		return true, nil
	case "0", "false", "off", "no":
		return false, nil
	}
	return false, fmt.Errorf("must be 1 or 0")
}

// onlyOne is a switch that only "1" turns on: nobody turns it on by accident.
func onlyOne(v string) (bool, error) {
	switch v {
	case "1":
		return true, nil
	case "", "0":
		return false, nil
	}
	return false, fmt.Errorf("must be 1 to enable, or 0 or empty")
}

func choice(allowed ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if slices.Contains(allowed, v) {
			return v, nil
		}
		words := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
		return "", fmt.Errorf("must be %s", strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	}
}

func level(v string) (slog.Level, error) {
	name, err := choice("debug", "info", "warn", "error")(v)
	var l slog.Level
	if err == nil {
		err = l.UnmarshalText([]byte(name))
	}
	return l, err
}

func whole(low, high int) func(string) (int, error) {
	return func(v string) (int, error) {
		n, err := whole64(int64(low), int64(high))(v)
		return int(n), err
	}
}

func whole64(low, high int64) func(string) (int64, error) {
	return func(v string) (int64, error) {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		return n, nil
	}
}

// seconds reads a number of seconds, fractions allowed.
func seconds(low, high time.Duration) func(string) (time.Duration, error) {
	return func(v string) (time.Duration, error) {
		n, err := strconv.ParseFloat(v, 64)
		d := time.Duration(n * float64(time.Second))
		if err != nil || !(n >= low.Seconds() && n <= high.Seconds()) {
			return 0, fmt.Errorf("must be a number of seconds from %g to %g", low.Seconds(), high.Seconds())
		}
		return d, nil
	}
}

// duration reads Go's notation, and days: 90s, 720h, 30d.
func duration(low, high time.Duration) func(string) (time.Duration, error) {
	return func(v string) (time.Duration, error) {
		d, err := time.ParseDuration(v)
		if number, ok := strings.CutSuffix(v, "d"); ok {
			const day = 24 * time.Hour
			var n int64
			n, err = whole64(0, int64(high/day))(number) // more could overflow
			d = time.Duration(n) * day
		}
		if err != nil || d < low || d > high {
			return 0, fmt.Errorf("must be a time such as 90s, 720h or 30d, at least %s", low)
		}
		return d, nil
	}
}

// units of a size, longest suffix first.
var units = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

// size reads bytes, with a unit or without.
func size(v string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(v, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("must be a size such as 500MB or 20GiB")
}

func hostPort(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	_, port, err := net.SplitHostPort(v)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || strconv.FormatUint(n, 10) != port {
		return "", fmt.Errorf("must be an address and a port, such as %s or 0.0.0.0:8420", app.DefaultListen)
	}
	return v, nil
}

func webAddress(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("must be an address such as https://interlock.example.com, without user name or query")
	}
	return strings.TrimRight(v, "/"), nil
}

// items splits a list at commas; blank items don't count.
func items(v string) []string {
	var out []string
	for item := range strings.SplitSeq(v, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func networks(v string) (serve.Proxies, error) {
	out, err := serve.ParseProxies(v)
	if err != nil {
		return nil, fmt.Errorf("must be addresses or networks such as 10.0.0.7,192.168.0.0/16")
	}
	return out, nil
}

func labels(v string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range items(v) {
		key, value, ok := strings.Cut(item, "=")
		if _, twice := out[key]; !ok || key == "" || twice {
			return nil, fmt.Errorf("must be labels such as room=lab,os=linux, each once")
		}
		out[key] = value
	}
	return out, nil
}

// devices reads KIND or KIND:ID items; a bare kind is given the ids KIND-1, KIND-2 …,
// but bare android has none: it is whichever phones are connected.
func devices(v string) ([]app.DeviceConfig, error) {
	var out []app.DeviceConfig
	seen, bare := map[string]bool{}, map[string]int{}
	for _, item := range items(v) {
		kind, id, named := strings.Cut(item, ":")
		every := kind == app.Android && !named
		if !named && !every {
			bare[kind]++
			id = fmt.Sprintf("%s-%d", kind, bare[kind])
		}
		if !slices.Contains(app.DeviceKinds(), kind) || (id == "" && !every) || seen[id] {
			return nil, fmt.Errorf("must be devices such as sim or sim:left,sim:right, of the kinds %s, each id once", strings.Join(app.DeviceKinds(), ", "))
		}
		seen[id] = true
		out = append(out, app.DeviceConfig{Kind: kind, ID: id})
	}
	return out, nil
}
