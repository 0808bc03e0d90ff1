package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"interlock/internal/policy"
)

// revised gives a tenant's policy the revision that follows from it, if it has
// none: the default tenant is made by the schema, which can't hash.
func revised(t Tenant) Tenant {
	if t.Policy.Revision == "" {
		t.Policy = canonical(t.Policy)
	}
	return t
}

// canonical returns the document with its lists in order and each entry once, a
// risk ceiling of low unless it names another (harm is not allowed by leaving
// something out), and with its revision: the first 12 hexadecimal digits of the SHA-256 of the
// JSON of all the rest. Documents that say the same have the same one.
func canonical(doc policy.Document) policy.Document {
	doc.Revision = ""
	doc.MaxRisk = cmp.Or(doc.MaxRisk, policy.Low)
	doc.AllowedTools = sorted(doc.AllowedTools)
	doc.AllowedPackages = sorted(doc.AllowedPackages)
	text, err := json.Marshal(doc)
	if err != nil {
		panic("catalog: a policy that is no JSON: " + err.Error()) // it holds strings only
	}
	sum := sha256.Sum256(text)
	doc.Revision = hex.EncodeToString(sum[:])[:12]
	return doc
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
