package app_test

import (
	"errors"
	"net"
	"testing"

	"interlock/internal/app"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

// R-PLAN-2, R-PLAN-10
func TestTheSettingsMeanOneProvider(t *testing.T) {
	t.Parallel()
	key := secret.New("canary-key")
	tests := []struct {
		name string
		plan app.Planner
		want string // provider
		code string // of the refusal
		none bool   // no client is made
	}{
		{name: "nothing is set", plan: app.Planner{Enabled: true}, none: true},
		{name: "the one whose key is set: Anthropic", plan: app.Planner{Enabled: true, AnthropicKey: key, Model: "m"}, want: app.Anthropic},
		{name: "the one whose key is set: OpenAI", plan: app.Planner{Enabled: true, OpenAIKey: key, Model: "m"}, want: app.OpenAI},
		{name: "both keys and nobody says which", plan: app.Planner{Enabled: true, AnthropicKey: key, OpenAIKey: key, Model: "m"}, code: "provider_ambiguous"},
		{name: "both keys and one is named", plan: app.Planner{Enabled: true, Provider: app.OpenAI, AnthropicKey: key, OpenAIKey: key, Model: "m"}, want: app.OpenAI},
		{name: "named without its key", plan: app.Planner{Enabled: true, Provider: app.Anthropic, OpenAIKey: key, Model: "m"}, want: app.Anthropic, code: "key_missing"},
		{name: "a server of one's own needs no key", plan: app.Planner{Enabled: true, Provider: app.OpenAI, BaseURL: "http://127.0.0.1:1", Model: "m"}, want: app.OpenAI},
		{name: "a real provider without a model", plan: app.Planner{Enabled: true, OpenAIKey: key}, want: app.OpenAI, code: "model_missing"},
		{name: "a base URL with a user name", plan: app.Planner{Enabled: true, OpenAIKey: key, Model: "m", BaseURL: "http://u@127.0.0.1"}, want: app.OpenAI, code: "invalid_provider_settings"},
		{name: "the script that is built in", plan: app.Planner{Enabled: true, Provider: app.Scripted}, want: app.Scripted},
		{name: "a script that is not there", plan: app.Planner{Enabled: true, Script: "missing.json"}, want: app.Scripted, code: "invalid_script"},
		{name: "switched off", plan: app.Planner{OpenAIKey: key, Model: "m"}, want: app.OpenAI, none: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, nameErr := tt.plan.Named()
			caller, err := tt.plan.Caller()
			switch {
			case tt.code != "" && fault.Of(err).Code != tt.code:
				t.Errorf("Caller: %v, want code %s", err, tt.code)
			case tt.code == "" && err != nil:
				t.Errorf("Caller: %v", err)
			case tt.code == "" && (caller == nil) != tt.none:
				t.Errorf("Caller = %v, want none: %v", caller, tt.none)
			}
			if nameErr == nil && got != tt.want {
				t.Errorf("Named = %q, want %q", got, tt.want)
			}
		})
	}
}

// R-PLAN-4: with the cloud transport a host makes no provider's client, so
// settings that no client could be made of don't matter to it.
func TestACloudHostNeedsNoProvider(t *testing.T) {
	t.Parallel()
	key := secret.New("canary-key")
	plan := app.Planner{Enabled: true, Transport: app.Cloud, AnthropicKey: key, OpenAIKey: key}
	config := app.HostConfig{Server: "http://127.0.0.1:1", StateDir: t.TempDir(), Name: "h", Planner: plan,
		Devices: []app.DeviceConfig{{Kind: "sim", ID: "one"}}}
	if _, err := app.NewHost(t.Context(), config, secret.String{}); fault.Of(err).Code != "host_not_enrolled" {
		t.Errorf("cloud: %v, want host_not_enrolled, which comes after the planner", err)
	}
	config.Planner.Transport = app.Direct
	if _, err := app.NewHost(t.Context(), config, secret.String{}); fault.Of(err).Code != "provider_ambiguous" {
		t.Errorf("direct: %v, want provider_ambiguous", err)
	}
	config.Planner = app.Planner{Enabled: true}
	if _, err := app.NewHost(t.Context(), config, secret.String{}); fault.Of(err).Code != "provider_missing" {
		t.Errorf("direct without a provider: %v, want provider_missing", err)
	}
}

func TestTheProvidersAddressIsTheVendorsOrTheBaseURLs(t *testing.T) {
	t.Parallel()
	for want, plan := range map[string]app.Planner{
		"api.anthropic.com:443": {Provider: app.Anthropic},
		"api.openai.com:443":    {Provider: app.OpenAI},
		"127.0.0.1:11434":       {Provider: app.OpenAI, BaseURL: "http://127.0.0.1:11434/v1"},
		"[::1]:80":              {Provider: app.OpenAI, BaseURL: "http://[::1]"},
		"":                      {Provider: app.Scripted},
	} {
		got, secure := plan.Address()
		if got != want || secure != (plan.BaseURL == "" && want != "") {
			t.Errorf("Address of %+v = %q, %v; want %q", plan, got, secure, want)
		}
		if _, _, err := net.SplitHostPort(got); got != "" && err != nil {
			t.Error(err)
		}
	}
}

func TestADeviceOfAnUnknownKindIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{app.Sim, app.Chromium} { // the third needs a phone
		d, err := app.OpenDevice(t.Context(), app.DeviceConfig{Kind: kind, ID: "one"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := app.OpenDevice(t.Context(), app.DeviceConfig{Kind: "toaster"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("got %v, want a fault of kind not found", err)
	}
}
