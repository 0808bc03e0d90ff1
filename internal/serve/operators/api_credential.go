package operators

import (
	"time"

	"interlock/internal/secret"
)

// SetCredential is the body that sets a tenant's credential at the service
// behind an app. It is sealed, and never shown again.
type SetCredential struct {
	Value secret.Exposed `json:"value" minLength:"1" maxLength:"4096"`
}

// Credential says who set a credential and when; it holds no secret.
type Credential struct {
	App      string    `json:"app"`
	Revision int64     `json:"revision" doc:"1 for the first, one more with each that replaces it"`
	KeyID    string    `json:"key_id" doc:"the key of the keyset that seals it"`
	SetBy    string    `json:"set_by"`
	SetAt    time.Time `json:"set_at"`
}

// CredentialList is a tenant's credentials, by app.
type CredentialList struct {
	Credentials []Credential `json:"credentials"`
}

// RotateReply answers a rotation over all tenants.
type RotateReply struct {
	Resealed int `json:"resealed" doc:"credentials that another key of the keyset had sealed; now its newest does"`
}
