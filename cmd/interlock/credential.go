package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"interlock/internal/secret"
	"interlock/internal/serve/operators"
)

func (p *program) credentialCommand() *cobra.Command {
	c := p.group("credential", "what tenants are known by at the services behind apps",
		p.credentialSet(), p.credentialList(), p.credentialDelete(), p.credentialRotate(), p.keysetCommand())
	return explained(c, `Some apps need a credential of each tenant at the service behind them, such as
a GUID for the business register. The server seals it with a key of its keyset
file (INTERLOCK_KEYSET_FILE) and opens it for one call at a time. Nothing shows
it again.`, `  interlock credential keyset new keyset.json
  interlock credential set abn_lookup guid.txt --tenant acme
  interlock credential list --tenant acme`)
}

func (p *program) credentialSet() *cobra.Command {
	var id string
	c := p.operatorCommand("set APP [FILE]", "set a tenant's credential, from a file, the standard input or typed unseen", between(1, 2, "an app's id"), func(cl *client, args []string) error {
		value, err := p.readCredential(args[0], args[1:])
		if err != nil {
			return err
		}
		if err := cl.put(p.ctx, operators.CredentialPath(id, args[0]), operators.SetCredential{Value: secret.Expose(value)}, nil); err != nil {
			return err
		}
		if p.json {
			return p.done("set", args[0])
		}
		p.printf("the credential of %s for %s is set and sealed\n", printable(id), printable(args[0]))
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Sets or replaces the credential; the next call uses it. FILE must be readable
by you alone (mode 0600). Without FILE it is read from the standard input; at a
terminal it is asked for and not shown. It is never an argument: others on this
machine could see it. Blanks around it are dropped.`, `  interlock credential set abn_lookup guid.txt
  pass show abr-guid | interlock credential set abn_lookup --tenant acme`)
}

// readCredential reads a secret from the file that args name, the terminal or
// the standard input.
func (p *program) readCredential(app string, args []string) (secret.String, error) {
	if len(args) > 0 && args[0] != "-" {
		value, err := readSecret(args[0])
		if err != nil {
			return secret.String{}, usageError("the credential: %s", err)
		}
		return secret.New(value), nil
	}
	b, err := p.readHidden("credential for " + printable(app))
	value := strings.TrimSpace(string(b))
	if err != nil || value == "" || len(b) > maxSecret {
		return secret.String{}, usageError("there is no credential on the standard input; name a file of mode 0600, or pipe it")
	}
	return secret.New(value), nil
}

// readHidden reads all of the standard input, or at a terminal one line, which
// it asks for and does not show. A signal ends it and gives the terminal back
// as it was.
func (p *program) readHidden(what string) ([]byte, error) {
	f, ok := p.in.(*os.File)
	if !ok || !xterm.IsTerminal(int(f.Fd())) {
		return io.ReadAll(io.LimitReader(p.in, maxSecret+1))
	}
	before, err := xterm.GetState(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	p.notef("%s (not shown): ", what)
	defer p.notef("\n")
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := xterm.ReadPassword(int(f.Fd()))
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-p.ctx.Done(): // the read ends with the process
		return nil, errors.Join(context.Cause(p.ctx), xterm.Restore(int(f.Fd()), before))
	}
}

func (p *program) credentialList() *cobra.Command {
	var id string
	c := p.operatorCommand("list", "list who set which credential and when; no value is shown", arguments(), func(cl *client, _ []string) error {
		var list operators.CredentialList
		if err := cl.get(p.ctx, operators.TenantPath(id, "credentials"), nil, &list); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(list.Credentials))
		}
		t := table{head: []string{"APP", "REVISION", "SET BY", "AT", "KEY"}}
		for _, k := range list.Credentials {
			t.add(k.App, fmt.Sprint(k.Revision), k.SetBy, when(k.SetAt), k.KeyID)
		}
		p.print(t, "it has no credentials; set one with: interlock credential set APP FILE"+of(id))
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Lists the credentials of a tenant with the key of the keyset that seals each.
No command shows the value.`, `  interlock credential list --tenant acme`)
}

func (p *program) credentialDelete() *cobra.Command {
	var id string
	c := p.operatorCommand("delete APP", "remove a tenant's credential", arguments("an app's id"), func(cl *client, args []string) error {
		if err := cl.remove(p.ctx, operators.CredentialPath(id, args[0]), nil); err != nil {
			return err
		}
		if p.json {
			return p.done("deleted", args[0])
		}
		p.printf("the credential of %s for %s is deleted: calls that need it are refused\n", printable(id), printable(args[0]))
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Removes the sealed credential. Calls that need it are refused until another is
set. It is not revoked at the service that issued it: do that there.`, `  interlock credential delete abn_lookup --tenant acme`)
}

func (p *program) credentialRotate() *cobra.Command {
	c := p.operatorCommand("rotate", "seal every credential of every tenant with the keyset's newest key", arguments(), func(cl *client, _ []string) error {
		var reply operators.RotateReply
		if err := cl.post(p.ctx, operators.PathCredentialsRotate, nil, &reply); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(reply)
		}
		if reply.Resealed == 0 {
			p.printf("nothing to do: the newest key that the server knows seals everything; it reads its keyset when it starts\n")
		} else {
			p.printf("sealed %s anew with the keyset's newest key\n", count(reply.Resealed, "credential"))
		}
		return nil
	})
	return explained(c, `Rotation in three steps: add a key to the keyset file, restart the server so
that it reads the file, and seal everything with the new key. Then nothing
needs the old key any more.`, `  interlock credential keyset add keyset.json
  interlock credential rotate`)
}
