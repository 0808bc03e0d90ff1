package operators

import (
	"encoding/json"
	"time"
)

// NewSite is the body that registers a site.
type NewSite struct {
	Name      string `json:"name" minLength:"1" maxLength:"100" doc:"for people, such as the site's address"`
	PerMinute int    `json:"per_minute,omitzero" minimum:"0" maximum:"1000000" doc:"calls a minute; 0: the default"`
	Burst     int    `json:"burst,omitzero" minimum:"0" maximum:"1000000" doc:"calls at once; 0: the default"`
}

// SiteChange is the body that changes a site: what is left out stays.
type SiteChange struct {
	Name      *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
	PerMinute *int    `json:"per_minute,omitempty" minimum:"1"`
	Burst     *int    `json:"burst,omitempty" minimum:"1"`
	Disabled  *bool   `json:"disabled,omitempty" doc:"true: all its calls are refused from now on; false: no more"`
}

// Site is one installation that sends instructions for a tenant.
type Site struct {
	ID         string    `json:"id" doc:"the issuer (iss) of its tokens"`
	Tenant     string    `json:"tenant" doc:"the subject (sub) of its tokens"`
	Name       string    `json:"name"`
	PerMinute  int       `json:"per_minute"`
	Burst      int       `json:"burst"`
	CreatedAt  time.Time `json:"created_at"`
	DisabledAt time.Time `json:"disabled_at,omitzero" doc:"absent: it may call"`
	Keys       []SiteKey `json:"keys" doc:"oldest first, disabled ones too"`
}

// SitePage is one page of a tenant's sites, by id. Query: limit, cursor.
type SitePage struct {
	Sites      []Site `json:"sites"`
	NextCursor string `json:"next_cursor,omitzero"`
}

// SiteKey is a public key of a site.
type SiteKey struct {
	KID        string    `json:"kid" doc:"the kid in the header of its tokens"`
	State      string    `json:"state" enum:"active,pending,expired,disabled" doc:"pending: its time has not come; expired: it is over"`
	Bits       int       `json:"bits" doc:"of the RSA modulus"`
	SHA256     string    `json:"sha256" doc:"hexadecimal, of the key's DER form (SubjectPublicKeyInfo): openssl pkey -pubin -outform DER | sha256sum"`
	NotBefore  time.Time `json:"not_before,omitzero"`
	NotAfter   time.Time `json:"not_after,omitzero" doc:"not part of its time; absent: open"`
	CreatedAt  time.Time `json:"created_at"`
	DisabledAt time.Time `json:"disabled_at,omitzero"`
}

// NewSiteKey is the body that gives a site a key: pem or jwk, only the public
// half.
type NewSiteKey struct {
	PEM       string          `json:"pem,omitzero" maxLength:"16384" doc:"-----BEGIN PUBLIC KEY----- …"`
	JWK       json.RawMessage `json:"jwk,omitzero" doc:"a JSON Web Key, as an object"`
	KID       string          `json:"kid,omitzero" maxLength:"128" doc:"left out: the one in the jwk, or one that is made from the key"`
	NotBefore time.Time       `json:"not_before,omitzero" doc:"left out: now"`
	NotAfter  time.Time       `json:"not_after,omitzero" doc:"left out: open"`
}
