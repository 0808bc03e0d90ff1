package wordpress_test

import (
	"encoding/json"
	"strings"
	"testing"

	"interlock/internal/app"
)

// R-BRIDGE-5, R-BRIDGE-9: where WordPress has abilities, there is one that
// proposes, for administrators alone, and nobody finds it from outside; where
// it has none, the plugin does without.
func TestTheAbilityProposesAndStaysPrivate(t *testing.T) {
	t.Parallel()
	p := newPlane(t, app.ABN{Source: app.ABNSample}, 100)
	w := siteOf(t, p)
	type outcome struct{ Status, Reason, Message, ABN, Error string }
	type reply struct {
		Status int
		Told   bool // it said anything of ours
	}
	var found struct {
		Abilities bool
		Meta      struct {
			Annotations struct{ Readonly, Destructive, Idempotent bool }
			ShowInREST  bool `json:"show_in_rest"`
			Public      bool
		}
		Admin, Editor, Nobody, More outcome
		NoMatch                     outcome `json:"no_match"`
		NoInput                     outcome `json:"no_input"`
		RESTList                    reply   `json:"rest_list"`
		RESTOne                     reply   `json:"rest_one"`
		RESTGet                     reply   `json:"rest_get"`
		RESTPost                    reply   `json:"rest_post"`
	}
	said := w.inside("ability.php")
	if err := json.Unmarshal([]byte(said), &found); err != nil {
		t.Fatalf("%v in %s", err, said)
	}
	if want := *suite != "trixie"; found.Abilities != want { // they came with 6.9
		t.Fatalf("WordPress of %s has abilities: %v", *suite, found.Abilities)
	}
	if !found.Abilities {
		return
	}
	if found.Admin != (outcome{Status: "resolved", ABN: "51824753556"}) {
		t.Errorf("an administrator got %+v", found.Admin)
	}
	if found.NoMatch.Status != "no_matching_tool" || found.NoMatch.Reason != "no_match" || !strings.Contains(found.NoMatch.Message, "Write one ABN") {
		t.Errorf("a business name is answered %+v", found.NoMatch)
	}
	for name, got := range map[string]outcome{"an editor": found.Editor, "nobody": found.Nobody} {
		if got != (outcome{Error: "ability_invalid_permissions"}) {
			t.Errorf("%s got %+v", name, got)
		}
	}
	for name, got := range map[string]outcome{"no input": found.NoInput, "an input more": found.More} {
		if got != (outcome{Error: "ability_invalid_input"}) {
			t.Errorf("%s is answered %+v", name, got)
		}
	}
	if m := found.Meta; !m.Annotations.Readonly || m.Annotations.Destructive || m.ShowInREST || m.Public {
		t.Errorf("it says of itself %+v", m)
	}
	if found.RESTList.Status != 200 || found.RESTList.Told {
		t.Errorf("REST lists it: %+v", found.RESTList)
	}
	for name, got := range map[string]reply{"read": found.RESTOne, "run by GET": found.RESTGet, "run by POST": found.RESTPost} {
		if got.Status != 404 {
			t.Errorf("%s over REST is answered %+v", name, got)
		}
	}
	if n := len(p.calls()); n != 0 {
		t.Errorf("it made %d calls of an app", n)
	}
}
