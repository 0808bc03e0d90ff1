package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"interlock/internal/secret"
)

const canary = "sk-canary-7f3a"

type nested struct {
	Key    secret.String
	hidden secret.String
	In     struct{ Deep *secret.String }
}

func TestNoPrinterShowsTheValue(t *testing.T) {
	s := secret.New(canary)
	n := nested{Key: s, hidden: s}
	n.In.Deep = &s
	values := []any{s, &s, n, &n, []secret.String{s}, map[string]secret.String{"k": s}, errors.Join(fmt.Errorf("with %v", s))}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p"} {
			if out := fmt.Sprintf(verb, v); strings.Contains(out, canary) || strings.Contains(out, fmt.Sprintf("%x", canary)) {
				t.Errorf("%s of %T shows the secret: %s", verb, v, out)
			}
		}
		if b, err := json.Marshal(v); err == nil && bytes.Contains(b, []byte(canary)) {
			t.Errorf("JSON of %T shows the secret: %s", v, b)
		}
		var buf bytes.Buffer
		slog.New(slog.NewTextHandler(&buf, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		slog.New(slog.NewJSONHandler(&buf, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		if bytes.Contains(buf.Bytes(), []byte(canary)) {
			t.Errorf("slog of %T shows the secret: %s", v, buf.String())
		}
	}
	if s.Reveal() != canary || s.Empty() || !(secret.String{}).Empty() || !secret.New("").Empty() {
		t.Error("Reveal or Empty is wrong")
	}
	if !s.Equal(secret.New(canary)) || s.Equal(secret.New("x")) {
		t.Error("Equal is wrong")
	}
}

// TestAnExposedSecretShowsInJSONAlone: it must travel, and nothing else.
func TestAnExposedSecretShowsInJSONAlone(t *testing.T) {
	type message struct {
		Token  secret.Exposed `json:"token"`
		hidden secret.Exposed
	}
	e := secret.Expose(secret.New(canary))
	m := message{Token: e, hidden: e}
	for _, v := range []any{e, &e, m, &m, []secret.Exposed{e}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if out := fmt.Sprintf(verb, v); strings.Contains(out, canary) || strings.Contains(out, fmt.Sprintf("%x", canary)) {
				t.Errorf("%s of %T shows the secret: %s", verb, v, out)
			}
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "token", e, "message", m)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "token", e)
	if strings.Contains(log.String(), canary) {
		t.Errorf("slog shows the secret: %s", log.String())
	}
	b, err := json.Marshal(m)
	var back message
	if err != nil || string(b) != `{"token":"`+canary+`"}` || json.Unmarshal(b, &back) != nil || !back.Token.Secret().Equal(secret.New(canary)) {
		t.Errorf("JSON %s, %v; back %q", b, err, back.Token.Reveal())
	}
	if json.Unmarshal([]byte(`{"token":7}`), &back) == nil || json.Unmarshal([]byte(`{"token":null}`), &back) != nil || !back.Token.Secret().Empty() {
		t.Errorf("a number was taken, or null is not empty: %q", back.Token.Reveal())
	}
}

func TestMintedTokensParseAndOthersDoNot(t *testing.T) {
	m := secret.Mint(secret.HostCredential)
	p, err := secret.Parse(secret.HostCredential, m.Value.Reveal())
	if err != nil || p.ID != m.ID || !secret.SameHash(p.Hash, m.Hash) {
		t.Fatalf("Parse = %v, %v; minted %v", p, err, m)
	}
	if strings.Contains(fmt.Sprintf("%+v %#v", m, m), m.Value.Reveal()) {
		t.Fatal("printing a Token shows its value")
	}
	v := m.Value.Reveal()
	for _, bad := range []string{"", v[:len(v)-1], v + "a", strings.ToUpper(v), " " + v, strings.Replace(v, "ilk_host", "ilk_api", 1), v[:25] + "!" + v[26:], v[:30] + "\x00" + v[31:]} {
		if _, err := secret.Parse(secret.HostCredential, bad); !errors.Is(err, secret.ErrMalformed) {
			t.Errorf("Parse(%q) = %v, want ErrMalformed", bad, err)
		}
	}
	if secret.SameHash(m.Hash, secret.Mint(secret.HostCredential).Hash) {
		t.Error("two minted tokens have one hash")
	}
}
