package operators

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/access"
	"interlock/internal/secret"
)

func (d *Door) mountAccess(api huma.API) {
	create := op("POST "+PathTokens, "create-token", "Make an API token, shown this once")
	create.DefaultStatus = http.StatusCreated
	add(d, api, create, d.createToken)
	add(d, api, op("GET "+PathTokens, "list-tokens", "List API tokens"), d.listTokens)
	add(d, api, op("POST "+PathTokens+"/{id}/revoke", "revoke-token", "Revoke an API token"), d.revokeToken)
}

type createTokenInput struct{ Body NewToken }

func (d *Door) createToken(ctx context.Context, o operator, in *createTokenInput) (*reply[TokenReply], error) {
	t, value, err := d.Access.Create(ctx, o.tenant, o.by, in.Body.Name)
	return answer(TokenReply{tokenView(t), secret.Expose(value)}, err)
}

func (d *Door) listTokens(ctx context.Context, o operator, _ *struct{}) (*reply[TokenList], error) {
	found, err := d.Access.Tokens(ctx, o.tenant)
	list := TokenList{Tokens: []Token{}}
	for _, t := range found {
		list.Tokens = append(list.Tokens, tokenView(t))
	}
	return answer(list, err)
}

type aToken struct {
	ID string `path:"id" maxLength:"64"`
}

func (d *Door) revokeToken(ctx context.Context, o operator, in *aToken) (*done, error) {
	return nil, d.Access.Revoke(ctx, o.tenant, o.by, in.ID)
}

func tokenView(t access.Token) Token {
	return Token{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt, RevokedAt: t.RevokedAt}
}
