package app

import (
	"time"

	"interlock/internal/secret"
)

// DefaultAudience is what sites' tokens are for if nobody says otherwise.
const DefaultAudience = "interlock"

// Bridge says how sites are served. The zero value looks ABNs up in the
// register's web service and can keep no credential.
type Bridge struct {
	Audience   string        // of sites' tokens; "": DefaultAudience
	KeysetFile string        // seals credentials; "": none can be kept
	Retention  time.Duration // of the records of resolutions and calls; zero: the rooms' default
	ABN        ABN
	Selector   Selector
}

// The sources of the ABN app by their setting's values.
const (
	ABNWeb    = "abr"    // the register's web service, with each tenant's GUID
	ABNIndex  = "index"  // the file that "interlock abn import" made
	ABNSample = "sample" // a few built-in records, for rehearsals
)

// ABN says where ABNs are looked up.
type ABN struct {
	Source  string // "": ABNIndex where the index is there, else ABNWeb
	Index   string // path of the index
	BaseURL string // of the web service; "": its own
	Form    string // "json" or "xml"; "": json
}

// Selector says which model is asked what an instruction means, where the
// deterministic selector finds nothing.
type Selector struct {
	Enabled     bool
	Provider    string // OpenAI or Anthropic; "": OpenAI
	Model       string
	Key         secret.String
	BaseURL     string // "": the vendor's own address
	CallsPerDay int64  // of one tenant; zero: selector's default
}
