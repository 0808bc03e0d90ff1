package hosts_test

import (
	"testing"

	"interlock/internal/hostapi"
	"interlock/internal/serve"
)

// R-CLOUD-2: a received decide is refused as if its tools were read member by
// member, with the place of what is wrong.
func TestTheReceivedFormOfADecideIsRefusedAsTheSentFormIs(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"tools":{}}`, `{"tools":[1]}`, `{"tools":[{"name":"a"},{"name":1}]}`, `{"tools":[{"name":"a","name":"b"}]}`,
		`{"tools":[{"name":"a","parameters":{"x":1,"x":2}}]}`, `{"tools":[{"name":"a",}]}`, `{"tools":[{"name":"a"}`, `{"tools":[],"tools":[]}`,
		`{"attempt":"1","tools":[]}`, `{"tools":null,"attempt":1.5}`, "{\"tools\":[{\"name\":\"\xff\"}]}", `{"tools":[{"Name":1,"more":2}]}`,
	} {
		var sent hostapi.DecideRequest
		var received hostapi.ReceivedDecide
		want, got := serve.Unmarshal([]byte(body), &sent), serve.Unmarshal([]byte(body), &received)
		if (want == nil) != (got == nil) || (want != nil && want.Error() != got.Error()) {
			t.Errorf("%q: got %v, want %v", body, got, want)
		}
	}
}
