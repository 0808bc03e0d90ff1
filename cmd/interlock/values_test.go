package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/app"
)

func TestValuesAreReadStrictly(t *testing.T) {
	t.Parallel()
	retention, timeout := duration(time.Second, 1000*24*time.Hour), seconds(time.Second, 10*time.Minute)
	tests := []struct {
		name  string
		parse func(string) (any, error)
		good  map[string]any
		bad   []string
	}{
		{"a switch is on or off", any1(boolean), map[string]any{"1": true, "on": true, "0": false, "False": false}, []string{"", "2", "enabled", " 1"}},
		{"a time may be in days", any1(retention), map[string]any{"720h": 720 * time.Hour, "30d": 720 * time.Hour, "1s": time.Second}, []string{"", "30", "30 d", "-1h", "0s", "d", "1.5d", "2000d", "213504d", "-213503d", "9999999999d"}},
		{"seconds may have a fraction", any1(timeout), map[string]any{"60": time.Minute, "1.5": 1500 * time.Millisecond}, []string{"", "0", "601", "1m", "NaN", "Inf"}},
		{"a size may have a unit", any1(size), map[string]any{"0": int64(0), "7": int64(7), "20GiB": int64(20 << 30), "500 MB": int64(500e6), "3B": int64(3)}, []string{"", "-1", "1.5GiB", "GiB", "1 PB", "9999999TiB", "1GiBs"}},
		{"an address has a port", any1(hostPort), map[string]any{"127.0.0.1:8420": "127.0.0.1:8420", "[::1]:0": "[::1]:0", ":80": ":80"}, []string{"127.0.0.1", "8420", "a:b", "a:70000", "a:+1", "a:01"}},
		{"a server is an http or https address", any1(webAddress), map[string]any{"https://a.example/": "https://a.example", "http://127.0.0.1:1": "http://127.0.0.1:1"}, []string{"a.example", "ftp://a", "https://", "https://u@a", "https://a?x=1", "https://a#b"}},
		{"labels have a name, once", any1(labels), map[string]any{"room=lab, os=linux": map[string]string{"room": "lab", "os": "linux"}, "": map[string]string{}, "a=": map[string]string{"a": ""}}, []string{"a", "=b", "a=1,a=2"}},
		{"devices have a kind that is known and an id, once", any1(devices), map[string]any{
			"sim":                            []app.DeviceConfig{{Kind: "sim", ID: "sim-1"}},
			"sim, sim,sim:me":                []app.DeviceConfig{{Kind: "sim", ID: "sim-1"}, {Kind: "sim", ID: "sim-2"}, {Kind: "sim", ID: "me"}},
			"android, android:10.0.0.7:5555": []app.DeviceConfig{{Kind: "android"}, {Kind: "android", ID: "10.0.0.7:5555"}},
		}, []string{"toaster", "sim:", "sim:a,sim:a", "sim,sim:sim-1", "android,android", "android:"}},
		{"proxies are addresses or networks", any1(networks), map[string]any{}, []string{"proxy.example", "10.0.0.0/33", "10.0.0.1,x"}},
		{"text is one line", any1(text), map[string]any{"a b": "a b"}, []string{"a\nb", "a\x00", fmt.Sprintf("%501s", "a")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for in, want := range tt.good {
				if got, err := tt.parse(in); err != nil || !cmp.Equal(got, want) {
					t.Errorf("%q = %v, %v; want %v", in, got, err, want)
				}
			}
			for _, in := range tt.bad {
				if got, err := tt.parse(in); err == nil {
					t.Errorf("%q was read as %v; want a refusal", in, got)
				}
			}
		})
	}
}

// any1 forgets the type of what a parser returns.
func any1[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(v string) (any, error) { return parse(v) }
}
