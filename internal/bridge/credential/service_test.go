package credential_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// R-BRIDGE-5
func TestACredentialIsRevealedToItsOwnTenantAndApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	wantMissing := func(what string, of tenant.ID, app catalog.AppID) {
		t.Helper()
		got, err := w.Reveal(ctx, of, app)
		if e := fault.Of(err); !errors.Is(err, credential.ErrMissing) || e.Kind != fault.Unavailable || !strings.Contains(e.Detail, "interlock credential set") || !got.Empty() {
			t.Errorf("%s: got %v, want credential_missing", what, err)
		}
	}
	wantMissing("before there is one", acme, abn)
	w.set(w.Service, acme, abn, "first")
	w.wantValue(w.Service, acme, abn, "first")
	wantMissing("another tenant", tenant.Default, abn)
	wantMissing("another app", acme, "weather")
	w.set(w.Service, acme, "weather", "sunny")
	w.set(w.Service, tenant.Default, abn, "mine")
	w.set(w.Service, acme, abn, "second\n")
	w.wantValue(w.Service, acme, abn, "second")
	w.wantValue(w.Service, acme, "weather", "sunny")
	w.wantValue(w.over(w.store), tenant.Default, abn, "mine")

	if err := w.Delete(ctx, acme, operator, abn); err != nil {
		t.Fatal(err)
	}
	wantMissing("when it is deleted", acme, abn)
	if err := w.Delete(ctx, acme, operator, abn); !errors.Is(err, credential.ErrNotFound) {
		t.Errorf("to delete it again: %v", err)
	}
	w.set(w.Service, acme, abn, "third")
	list, err := w.List(ctx, acme)
	if err != nil || len(list) != 2 || list[0].App != abn || list[0].Revision != 3 || list[0].SetBy != operator || !list[0].SetAt.Equal(w.clock.Now()) || list[1].App != "weather" {
		t.Errorf("the list: %+v, %v", list, err)
	}
	if list, err := w.List(ctx, "nobody"); err != nil || len(list) != 0 {
		t.Errorf("the list of a tenant that is not there: %+v, %v", list, err)
	}
	set, deleted := w.facts(acme, "credential.set"), w.facts(acme, "credential.delete")
	if len(set) != 4 || set[2].Subject != string(abn) || set[2].Actor != operator || set[2].Detail["revision"] != "2" || len(deleted) != 1 || deleted[0].Detail["revision"] != "2" {
		t.Errorf("facts %+v and %+v", set, deleted)
	}
	if err := w.Set(ctx, "nobody", operator, abn, secret.New("x")); !errors.Is(err, catalog.ErrTenantNotFound) {
		t.Errorf("a tenant that is not there: %v", err)
	}
}

func TestWhatIsNoCredentialIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, c := range map[string]struct {
		app   catalog.AppID
		value string
		want  string // "": refused
	}{
		"one byte":                        {abn, "x", "x"},
		"4096 bytes":                      {abn, strings.Repeat("x", 4096), strings.Repeat("x", 4096)},
		"a line break of a file behind":   {abn, "x\n", "x"},
		"the same from another system":    {abn, "x\r\n", "x"},
		"a space within":                  {abn, "Bearer x", "Bearer x"},
		"letters of another alphabet":     {abn, "ключ", "ключ"},
		"nothing":                         {abn, "", ""},
		"a line break alone":              {abn, "\n", ""},
		"4097 bytes":                      {abn, strings.Repeat("x", 4097), ""},
		"two line breaks behind":          {abn, "x\n\n", ""},
		"a line break before":             {abn, "\nx", ""},
		"two lines":                       {abn, "x\ny", ""},
		"a space behind":                  {abn, "x ", ""},
		"a zero byte":                     {abn, "x\x00", ""},
		"a mark that is not shown":        {abn, "x\u200b", ""},
		"bytes that are not UTF-8":        {abn, "\xff\xfe", ""},
		"an app whose id is empty":        {"", "x", ""},
		"an app with a slash in its id":   {"a/b", "x", ""},
		"an app whose id is a page long":  {catalog.AppID(strings.Repeat("a", 33)), "x", ""},
		"an app whose id is in uppercase": {"ABN", "x", ""},
	} {
		err := w.Set(t.Context(), acme, operator, c.app, secret.New(c.value))
		switch {
		case c.want == "":
			if fault.KindOf(err) != fault.Invalid || fault.Of(err).Code != "invalid_credential" {
				t.Errorf("%s: got %v, want invalid_credential", what, err)
			}
		case err != nil:
			t.Errorf("%s: %v", what, err)
		default:
			w.wantValue(w.Service, acme, c.app, c.want)
		}
	}
}

// altered is a store whose rows somebody edits between write and read.
type altered struct {
	credential.Store
	edit func(*credential.Sealed)
}

func (a altered) SealedCredential(ctx context.Context, t tenant.ID, app catalog.AppID) (credential.Sealed, error) {
	c, err := a.Store.SealedCredential(ctx, t, app)
	c.Nonce, c.Ciphertext = bytes.Clone(c.Nonce), bytes.Clone(c.Ciphertext)
	a.edit(&c)
	return c, err
}

// R-BRIDGE-5: a row opens in its own place only.
func TestARowThatWasMovedDoesNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.set(w.Service, acme, abn, "older")
	older, err := w.store.SealedCredential(ctx, acme, abn)
	if err != nil {
		t.Fatal(err)
	}
	w.set(w.Service, acme, abn, canary)
	w.set(w.Service, acme, "weather", canary)
	w.set(w.Service, tenant.Default, abn, canary)
	row := func(of tenant.ID, app catalog.AppID) credential.Sealed {
		c, err := w.store.SealedCredential(ctx, of, app)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	sealedAs := func(from credential.Sealed) func(*credential.Sealed) {
		return func(c *credential.Sealed) { c.KeyID, c.Nonce, c.Ciphertext = from.KeyID, from.Nonce, from.Ciphertext }
	}
	for what, edit := range map[string]func(*credential.Sealed){
		"the secret of another tenant":         sealedAs(row(tenant.Default, abn)),
		"the secret of another app":            sealedAs(row(acme, "weather")),
		"the secret before this one":           sealedAs(older),
		"the secret under another revision":    func(c *credential.Sealed) { c.Revision++ },
		"the whole row of another tenant":      func(c *credential.Sealed) { *c = row(tenant.Default, abn) },
		"the whole row of another app":         func(c *credential.Sealed) { *c = row(acme, "weather") },
		"the nonce of another row":             func(c *credential.Sealed) { c.Nonce = older.Nonce },
		"a nonce that is too short":            func(c *credential.Sealed) { c.Nonce = c.Nonce[1:] },
		"no nonce":                             func(c *credential.Sealed) { c.Nonce = nil },
		"a secret that was cut":                func(c *credential.Sealed) { c.Ciphertext = c.Ciphertext[:15] },
		"no secret":                            func(c *credential.Sealed) { c.Ciphertext = nil },
		"the id of a key that is not there":    func(c *credential.Sealed) { c.KeyID = "key_00000000" },
		"no id of a key":                       func(c *credential.Sealed) { c.KeyID = "" },
		"a tenant and app with another border": func(c *credential.Sealed) { c.Tenant, c.App = "acm", "eabn_lookup" },
	} {
		got, err := w.over(altered{w.store, edit}).Reveal(ctx, acme, abn)
		if e := fault.Of(err); !errors.Is(err, credential.ErrUnreadable) || e.Kind != fault.Unavailable || e.Unwrap() == nil || !got.Empty() {
			t.Errorf("%s: got %q, %v; want credential_unreadable", what, got.Reveal(), err)
		}
	}
	w.wantValue(w.over(altered{w.store, func(*credential.Sealed) {}}), acme, abn, canary)
}

// R-BRIDGE-5: nothing of a row can be changed.
func TestAFlippedBitDoesNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(w.Service, acme, abn, canary)
	rapid.Check(t, func(t *rapid.T) {
		flip := func(c *credential.Sealed) {
			b := rapid.SampledFrom([][]byte{c.Nonce, c.Ciphertext}).Draw(t, "field")
			b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if got, err := w.over(altered{w.store, flip}).Reveal(context.Background(), acme, abn); !errors.Is(err, credential.ErrUnreadable) || !got.Empty() {
			t.Fatalf("got %q, %v", got.Reveal(), err)
		}
	})
}

// R-BRIDGE-5, R-BRIDGE-6: the database alone opens nothing, and nothing of a
// secret is in it, in the log, in an error, in the audit chain or in a list.
func TestASecretIsNowhereInTheOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.set(w.Service, acme, abn, canary+"-old")
	w.set(w.Service, acme, abn, canary)
	w.addKey()
	if n, err := w.over(w.store).Rotate(ctx, operator); n != 1 || err != nil {
		t.Fatalf("rotated %d, %v", n, err)
	}
	_, unreadable := w.with(w.store, credential.NewKeyset(w.clock.Now())).Reveal(ctx, acme, abn)
	invalid := w.Set(ctx, acme, operator, abn, secret.New(canary+"\n"+canary))
	list, err := w.List(ctx, acme)
	if err != nil || unreadable == nil || invalid == nil {
		t.Fatal(err, unreadable, invalid)
	}
	keyset, err := credential.OpenKeyset(w.keyset)
	if err != nil {
		t.Fatal(err)
	}
	key := keyBytes(t, w.keyset)
	told := w.log.String() + unreadable.Error() + invalid.Error() +
		fmt.Sprintf("%v %+v %#v %v %#v %+v %+v", list, list, list, keyset, keyset, *keyset, w.Service) +
		fmt.Sprint(w.facts(acme, "credential.set"), w.facts(acme, "credential.rotate"))
	places := map[string][]byte{"log, errors, lists and facts": []byte(told)}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.db + suffix)
		if err != nil {
			t.Fatal(err)
		}
		places["the database"+suffix] = b
	}
	if !bytes.Contains(places["the database-wal"], []byte("abn_lookup")) && !bytes.Contains(places["the database"], []byte("abn_lookup")) {
		t.Error("the search would not find what is in the database")
	}
	for place, b := range places {
		for what, needle := range map[string]string{"the secret": canary, "the secret in base64": base64.StdEncoding.EncodeToString([]byte(canary))[:24],
			"a key": string(key), "a key in base64": base64.StdEncoding.EncodeToString(key), "a key in hex": fmt.Sprintf("%x", key), "a key in numbers": strings.Trim(fmt.Sprint(key), "[]")} {
			if bytes.Contains(b, []byte(needle)) {
				t.Errorf("%s holds %s", place, what)
			}
		}
	}
}

// Two operators at the same moment: one of them wins, and neither fails.
func TestCredentialsAreSetAtTheSameMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if err := w.Set(t.Context(), acme, operator, abn, secret.New(fmt.Sprint("value ", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := w.Reveal(t.Context(), acme, abn)
	if err != nil || !slices.Contains([]string{"value 0", "value 1", "value 2", "value 3"}, got.Reveal()) {
		t.Errorf("got %q, %v", got.Reveal(), err)
	}
	list, err := w.List(t.Context(), acme)
	if err != nil || len(list) != 1 || list[0].Revision != 4 {
		t.Errorf("four changes: %+v, %v", list, err)
	}
}

func TestAServiceNeedsAKeyset(t *testing.T) {
	t.Parallel()
	if _, err := credential.New(nil, nil, credential.Config{}); fault.Of(err).Code != "invalid_settings" {
		t.Errorf("got %v", err)
	}
}
