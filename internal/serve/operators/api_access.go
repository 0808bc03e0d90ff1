package operators

import (
	"time"

	"interlock/internal/secret"
)

// NewToken is the body that makes an API token.
type NewToken struct {
	Name string `json:"name" minLength:"1" maxLength:"100"`
}

// Token is one API token's record; it holds no secret.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// TokenReply answers the making of a token, the only time it is shown.
type TokenReply struct {
	Token
	Value secret.Exposed `json:"value"`
}

// TokenList is all API tokens of a tenant. Query: tenant.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}
