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

type createTokenInput struct {
	Tenant string `query:"tenant" maxLength:"64" doc:"left out: that of the API token"`
	Body   NewToken
}

func (d *Door) createToken(ctx context.Context, o operator, in *createTokenInput) (*reply[TokenReply], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	made, value, err := d.Access.Create(ctx, t, o.by, in.Body.Name)
	return answer(TokenReply{tokenView(made), secret.Expose(value)}, err)
}

func (d *Door) listTokens(ctx context.Context, o operator, in *whose) (*reply[TokenList], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	found, err := d.Access.Tokens(ctx, t)
	list := TokenList{Tokens: []Token{}}
	for _, t := range found {
		list.Tokens = append(list.Tokens, tokenView(t))
	}
	return answer(list, err)
}

type aToken struct {
	Tenant string `query:"tenant" maxLength:"64" doc:"left out: that of the API token"`
	ID     string `path:"id" maxLength:"64"`
}

func (d *Door) revokeToken(ctx context.Context, o operator, in *aToken) (*done, error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	return nil, d.Access.Revoke(ctx, t, o.by, in.ID)
}

func tokenView(t access.Token) Token {
	return Token{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt, RevokedAt: t.RevokedAt}
}
