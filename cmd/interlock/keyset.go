package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/bridge/credential"
)

func (p *program) keysetCommand() *cobra.Command {
	c := p.group("keyset", "the file of keys that seals credentials, on this machine", p.keysetNew(), p.keysetAdd())
	return explained(c, `A keyset is a small file of mode 0600, made where the server runs and named to
it by INTERLOCK_KEYSET_FILE. Keep a copy, apart from the database's: without it
no credential opens, and with both every one does.`, `  interlock credential keyset new /var/lib/interlock/keyset.json
  interlock server --keyset-file /var/lib/interlock/keyset.json`)
}

func (p *program) keysetNew() *cobra.Command {
	c := p.keysetChange("new FILE", "make a keyset of one new key in a new file", credential.CreateKeyset)
	return explained(c, `Writes a new file of mode 0600; one that is there stays untouched. Start the
server with INTERLOCK_KEYSET_FILE=FILE or --keyset-file FILE. This asks no
server.`, `  interlock credential keyset new keyset.json`)
}

func (p *program) keysetAdd() *cobra.Command {
	c := p.keysetChange("add FILE", "add a new key to a keyset, which seals from then on", credential.AddKey)
	return explained(c, `Adds a key and makes it the one that seals; the others still open what they
have sealed. Restart the server, then: interlock credential rotate`, `  interlock credential keyset add keyset.json`)
}

// keysetChange is a command that makes or changes a keyset file. It is local:
// no key ever travels.
func (p *program) keysetChange(use, short string, change func(path string, now time.Time) (keyID string, err error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: arguments("a file"), RunE: func(_ *cobra.Command, args []string) error {
		path, err := filepath.Abs(args[0])
		if err != nil {
			return usageError("the file %s can't be reached from here; give its whole path", args[0])
		}
		id, err := change(path, time.Now())
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(struct {
				File string `json:"file"`
				Key  string `json:"key"`
			}{path, id})
		}
		p.printf("%s seals with %s from the server's next start on: interlock server --keyset-file %s\n", printable(path), id, printable(path))
		return nil
	}}
}
