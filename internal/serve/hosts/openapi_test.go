package hosts_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"interlock/internal/serve/hosts"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestTheProtocolIsDescribedAsItWas(t *testing.T) {
	t.Parallel()
	got, err := json.MarshalIndent(hosts.Document(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("the host protocol's document differs from %s: hosts in the field keep to the old one; rewrite it with -update if that is meant", file)
	}
}
