package policy_test

import (
	"encoding/json"
	"testing"

	"interlock/internal/policy"
)

// R-RUN-3: what a name says in its spelling, not in part of a word.
func TestConfirmWordsAreFoundInNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Pay": true, "PAY NOW": true, "Pay $12.50": true, "pay_now": true, "btnPayNow": true, "com.shop:id/pay-button": true, "  buy\u00a0it ": true,
		"Delete account": true, "Delete my account": false, "Delete": false, "Delete, account": true,
		"Display": false, "Paypal": false, "Repay": false, "paymentless": false, "Save": false, "": false, "…": false,
		"Passwort vergessen?": true, "Überweisen": true, "ÜBERWEISEN": true, "Contraseña": true, "立即支付": true, "לתשלום מאובטח": true, "パスワード": true,
		"Forgot password": true, "CVV": true,
	} {
		v := policy.Evaluate(policy.Document{}, policy.Facts{Tool: "tap", Risk: policy.Medium, Reach: policy.ReachNothing, Names: []string{name}})
		if got := v.Rule == "confirm_words"; got != want || got && v.Effect != policy.Confirm {
			t.Errorf("%q: got %+v", name, v)
		}
	}
}

// R-RUN-5: what nobody has classified counts as what can't be taken back.
func TestClassify(t *testing.T) {
	t.Parallel()
	tap := policy.Facts{Tool: "tap"}
	toggle := policy.Facts{Tool: "tap", Reversible: true}
	named := policy.Facts{Tool: "tap", Reversible: true, Names: []string{"Automatic transfer"}}
	for name, c := range map[string]struct {
		doc   policy.Document
		facts policy.Facts
		want  policy.Class
	}{
		"nobody has said":                         {policy.Document{}, tap, policy.Unclassified},
		"reversible, says the tool's owner":       {policy.Document{}, toggle, policy.Reversible},
		"reversible, says the operator":           {policy.Document{Reversible: []string{"swipe", "tap"}}, tap, policy.Reversible},
		"another tool is reversible":              {policy.Document{Reversible: []string{"swipe"}}, tap, policy.Unclassified},
		"irreversible, says the operator":         {policy.Document{Irreversible: []string{"tap"}}, toggle, policy.Irreversible},
		"of two lists the stricter counts":        {policy.Document{Reversible: []string{"tap"}, Irreversible: []string{"tap"}}, tap, policy.Irreversible},
		"a confirm word outweighs the tool":       {policy.Document{}, named, policy.Irreversible},
		"and the operator's list":                 {policy.Document{Reversible: []string{"tap"}}, named, policy.Irreversible},
		"but not where the operator has no words": {policy.Document{ConfirmWords: []string{}}, named, policy.Reversible},
		"a word of the operator's":                {policy.Document{ConfirmWords: []string{"automatic"}}, named, policy.Irreversible},
	} {
		if got := policy.Classify(c.doc, c.facts); got != c.want || got.Commits() != (c.want != policy.Reversible) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// A document without words and one with none mean different things, and stay
// so on the wire.
func TestNoWordsAreNotTheDefaultOnTheWire(t *testing.T) {
	t.Parallel()
	for want, doc := range map[string]policy.Document{
		`{"revision":""}`:                                            {},
		`{"revision":"","confirm_words":[]}`:                         {ConfirmWords: []string{}},
		`{"revision":"","confirm_words":["x"],"reversible":["tap"]}`: {ConfirmWords: []string{"x"}, Reversible: []string{"tap"}},
	} {
		got, err := json.Marshal(doc)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
		var back policy.Document
		if err := json.Unmarshal(got, &back); err != nil || (back.ConfirmWords == nil) != (doc.ConfirmWords == nil) {
			t.Errorf("%s came back as %+v, %v", got, back, err)
		}
	}
}

func TestTheDefaultWordsAreACopyAndNoneIsInvalid(t *testing.T) {
	t.Parallel()
	words := policy.DefaultConfirmWords()
	if err := (policy.Document{ConfirmWords: words}).Validate(); err != nil || len(words) < 40 {
		t.Errorf("%d words: %v", len(words), err)
	}
	words[0] = "changed"
	if policy.DefaultConfirmWords()[0] == "changed" {
		t.Error("the list was changed")
	}
}
