package main

import (
	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) abnPurge() *cobra.Command {
	c := p.operatorCommand("purge [ABN]", "forget the register's cached answers", between(0, 1), func(cl *client, args []string) error {
		var body operators.PurgeABN
		if len(args) > 0 {
			body.ABN = args[0]
		}
		var reply operators.PurgeABNReply
		if err := cl.post(p.ctx, operators.PathABNPurge, body, &reply); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(reply)
		}
		p.printf("forgot %s; the next lookup asks the register\n", count(reply.Purged, "answer"))
		return nil
	})
	return explained(c, `The server keeps the register's answers for up to an hour. This forgets the
one about an ABN, or all, so that the next lookup asks the register again.`, `  interlock abn purge 51824753556
  interlock abn purge`)
}
