package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) tokenCommand() *cobra.Command {
	return p.group("token", "API tokens of operators", p.tokenList(), p.tokenCreate(), p.tokenRevoke())
}

func (p *program) tokenList() *cobra.Command {
	var id string
	c := p.operatorCommand("list", "list the API tokens", arguments(), func(cl *client, _ []string) error {
		var list operators.TokenList
		if err := cl.get(p.ctx, operators.PathTokens, filters("tenant", id), &list); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(list.Tokens))
		}
		t := table{head: []string{"TOKEN", "NAME", "CREATED", "REVOKED"}}
		for _, k := range list.Tokens {
			t.add(k.ID, k.Name, when(k.CreatedAt), when(k.RevokedAt))
		}
		p.print(t, "there are no API tokens")
		return nil
	})
	ownTenantFlag(c, &id)
	return c
}

func (p *program) tokenCreate() *cobra.Command {
	var id string
	c := p.operatorCommand("create NAME", "make an API token, shown this once", arguments("a name for it"), func(cl *client, args []string) error {
		var reply operators.TokenReply
		if err := cl.call(p.ctx, http.MethodPost, operators.PathTokens, filters("tenant", id), nil, operators.NewToken{Name: args[0]}, &reply); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(reply)
		}
		p.printf("%s\n", reply.Value.Reveal())
		p.notef("keep it in a file of mode 0600; it is not shown again\n")
		return nil
	})
	ownTenantFlag(c, &id)
	return explained(c, `Makes a token with which operators' commands are run. One of the tenant
"default" reaches every tenant; one of another tenant reaches that one alone,
and can't change its subscription, its apps or their quotas.`, `  interlock token create ci
  interlock token create acme-admin --tenant acme`)
}

func (p *program) tokenRevoke() *cobra.Command {
	var id string
	c := p.operatorCommand("revoke TOKEN", "end an API token", arguments("the token's id"), func(cl *client, args []string) error {
		if err := cl.call(p.ctx, http.MethodPost, operators.TokenPath(args[0], "revoke"), filters("tenant", id), nil, nil, nil); err != nil {
			return err
		}
		return p.done("revoked", args[0])
	})
	ownTenantFlag(c, &id)
	return c
}
