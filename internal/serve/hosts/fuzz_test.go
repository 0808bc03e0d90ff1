package hosts_test

import (
	"strings"
	"testing"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/serve"
)

// Whatever a host sends as a decide is read or refused with one short sentence.
func FuzzADecideBodyIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"task_id":"t","attempt":1,"tools":[{"name":"tap","parameters":{"type":"object"}}],"timeout_seconds":1}`,
		`{"screenshot":"iVBORw0KGgo="}`, `{"tools":[{"name":"a","parameters":{"type":"object","$ref":"#"}}]}`, `{"timeout_seconds":1e308}`,
		`{"task_id":"t","task_id":"u"}`, "{\"user_prompt\":\"\xff\"}", `{"attempt":99999999999999999999}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q hostapi.ReceivedDecide
		err := serve.Unmarshal(body, &q)
		if err == nil {
			_, err = q.Request("key")
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("a refusal of %d bytes", len(err.Error()))
			}
			return
		}
		e := fault.Of(err)
		if e.Kind != fault.Invalid || e.Detail == "" || len(e.Detail) > 500 || strings.ContainsAny(e.Detail, "\r\n") {
			t.Errorf("refused with %v %q", e.Kind, e.Detail)
		}
	})
}
