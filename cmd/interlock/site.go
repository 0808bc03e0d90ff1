package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/bridge/site"
	"interlock/internal/serve/operators"
)

func (p *program) siteCommand() *cobra.Command {
	c := p.group("site", "the sites that send instructions, and their keys",
		p.siteCreate(), p.siteList(), p.siteShow(), p.siteChange(), p.siteDisable(), p.siteEnable(),
		explained(p.group("key", "the public keys that a site's tokens are checked with", p.siteKeyAdd(), p.siteKeyDisable()),
			`A site changes its key without a gap so: add the next, let the site sign with
it, disable the old one. Two may be in use at once.`, `  interlock site key add site_0123456789abcdef next.pem --tenant acme
  interlock site key disable site_0123456789abcdef 2026 --tenant acme`))
	return explained(c, `A site is one installation, such as a WordPress, that sends instructions for a
tenant. It signs a short-lived token for each call with a key of its own; here
only the public half is kept. Two keys may be in use at once, so that a new one
can take over before the old one is disabled.`, `  interlock site create --tenant acme --name www.acme.example
  interlock site key add site_0123456789abcdef public.pem --tenant acme
  interlock site disable site_0123456789abcdef --tenant acme`)
}

func (p *program) siteCreate() *cobra.Command {
	var id string
	var body operators.NewSite
	c := p.operatorCommand("create", "register a site of a tenant", arguments(), func(cl *client, _ []string) error {
		if body.Name == "" {
			return usageError("say what people call the site, such as --name www.acme.example")
		}
		var made operators.Site
		if err := cl.post(p.ctx, operators.TenantPath(id, "sites"), body, &made); err != nil {
			return err
		}
		if err := p.printSite(made); err != nil || p.json {
			return err
		}
		p.notef("it can call once it has a key: interlock site key add %s FILE%s\n", made.ID, of(made.Tenant))
		return nil
	})
	tenantFlag(c, &id)
	c.Flags().StringVar(&body.Name, "name", "", "what people call it, such as its address")
	c.Flags().IntVar(&body.PerMinute, "per-minute", 0, "calls a minute that it may make (0: the server's default)")
	c.Flags().IntVar(&body.Burst, "burst", 0, "calls that it may make at once (0: the server's default)")
	return explained(c, `Registers a site. Its id is what its tokens name as their issuer.`, `  interlock site create --tenant acme --name www.acme.example --per-minute 120`)
}

func (p *program) siteList() *cobra.Command {
	var id string
	var limit int
	c := p.operatorCommand("list", "list a tenant's sites", arguments(), func(cl *client, _ []string) error {
		all := []operators.Site{}
		err := pages(limit, url.Values{}, func(query url.Values) (string, int, error) {
			var page operators.SitePage
			err := cl.get(p.ctx, operators.TenantPath(id, "sites"), query, &page)
			all = append(all, page.Sites...)
			return page.NextCursor, len(page.Sites), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(all)
		}
		t := table{head: []string{"SITE", "NAME", "STATE", "KEYS IN USE", "RATE"}}
		for _, s := range all {
			t.add(s.ID, shorten(s.Name, 24), siteState(s), strconv.Itoa(keysInUse(s)), fmt.Sprintf("%d/min", s.PerMinute))
		}
		p.print(t, "it has no sites; register one with: interlock site create --name NAME"+of(id))
		return nil
	})
	tenantFlag(c, &id)
	c.Flags().IntVar(&limit, "limit", operators.MaxPage, "how many")
	return explained(c, `Lists the sites with whether they can call: a site that is disabled, or has no
key in use, can't.`, `  interlock site list --tenant acme`)
}

func siteState(s operators.Site) string {
	switch {
	case !s.DisabledAt.IsZero():
		return "disabled"
	case keysInUse(s) == 0:
		return "no key"
	}
	return "active"
}

func keysInUse(s operators.Site) (n int) {
	for _, k := range s.Keys {
		if k.State == "active" {
			n++
		}
	}
	return n
}

func (p *program) siteShow() *cobra.Command {
	var id string
	c := p.operatorCommand("show SITE", "show one site and its keys", arguments("the site's id"), func(cl *client, args []string) error {
		var s operators.Site
		if err := cl.get(p.ctx, operators.SitePath(id, args[0], ""), nil, &s); err != nil {
			return err
		}
		return p.printSite(s)
	})
	tenantFlag(c, &id)
	return explained(c, `Shows what the site's tokens must name: its id as issuer (iss), the tenant as
subject (sub), and one of its keys (kid).`, `  interlock site show site_0123456789abcdef --tenant acme`)
}

// printSite answers every command that is about one site.
func (p *program) printSite(s operators.Site) error {
	if p.json {
		return p.printJSON(s)
	}
	p.fields("site", s.ID, "tenant", s.Tenant, "name", s.Name, "state", siteState(s), "disabled", set(s.DisabledAt),
		"rate", fmt.Sprintf("%d calls a minute, %d at once", s.PerMinute, s.Burst), "created", when(s.CreatedAt))
	for _, k := range s.Keys {
		p.printf("\n")
		p.printSiteKey(k)
	}
	return nil
}

func (p *program) printSiteKey(k operators.SiteKey) {
	p.fields("key", k.KID, "state", k.State, "disabled", set(k.DisabledAt), "from", set(k.NotBefore), "to", set(k.NotAfter),
		"kind", fmt.Sprintf("RSA, %d bits", k.Bits), "sha256", k.SHA256)
}

func (p *program) siteChange() *cobra.Command {
	var id, name string
	var perMinute, burst int
	var c *cobra.Command
	c = p.operatorCommand("change SITE", "change a site's name or how often it may call", arguments("the site's id"), func(cl *client, args []string) error {
		var change operators.SiteChange
		for flag, field := range map[string]func(){
			"name":       func() { change.Name = &name },
			"per-minute": func() { change.PerMinute = &perMinute },
			"burst":      func() { change.Burst = &burst },
		} {
			if c.Flags().Changed(flag) {
				field()
			}
		}
		if change == (operators.SiteChange{}) {
			return usageError("say what to change; see: interlock site change --help")
		}
		var after operators.Site
		if err := cl.patch(p.ctx, operators.SitePath(id, args[0], ""), change, &after); err != nil {
			return err
		}
		return p.printSite(after)
	})
	tenantFlag(c, &id)
	c.Flags().StringVar(&name, "name", "", "what people call it")
	c.Flags().IntVar(&perMinute, "per-minute", 0, "calls a minute that it may make")
	c.Flags().IntVar(&burst, "burst", 0, "calls that it may make at once")
	return explained(c, `Changes what the flags name, from the next call on; the rest stays.`, `  interlock site change site_0123456789abcdef --tenant acme --per-minute 1200`)
}

func (p *program) siteDisable() *cobra.Command {
	c := p.siteSwitch("disable SITE", "refuse all calls of a site until enable", true, "%s is disabled: every call of it is refused\n")
	return explained(c, `Refuses every call of the site from now on, over all processes of the server.
For a key that leaked, disable the key alone: interlock site key disable`, `  interlock site disable site_0123456789abcdef --tenant acme`)
}

func (p *program) siteEnable() *cobra.Command {
	c := p.siteSwitch("enable SITE", "let a disabled site call again", false, "%s may call again\n")
	return explained(c, `Ends what disable began. A key that is disabled stays so.`, `  interlock site enable site_0123456789abcdef --tenant acme`)
}

// siteSwitch is the command that disables a site or enables it.
func (p *program) siteSwitch(use, short string, disabled bool, sentence string) *cobra.Command {
	var id string
	c := p.operatorCommand(use, short, arguments("the site's id"), func(cl *client, args []string) error {
		var after operators.Site
		if err := cl.patch(p.ctx, operators.SitePath(id, args[0], ""), operators.SiteChange{Disabled: &disabled}, &after); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(after)
		}
		p.printf(sentence, after.ID)
		return nil
	})
	tenantFlag(c, &id)
	return c
}

func (p *program) siteKeyAdd() *cobra.Command {
	var id, from, to string
	var body operators.NewSiteKey
	c := p.operatorCommand("add SITE [FILE]", "give a site a public key, from a file or the standard input", between(1, 2, "the site's id"), func(cl *client, args []string) error {
		if err := p.readPublicKey(args[1:], &body); err != nil {
			return err
		}
		var err error
		now := time.Now()
		if body.NotBefore, _, err = moment("--not-before", from, now); err != nil {
			return err
		}
		if body.NotAfter, _, err = moment("--not-after", to, now); err != nil {
			return err
		}
		var made operators.SiteKey
		if err := cl.post(p.ctx, operators.SitePath(id, args[0], "keys"), body, &made); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(made)
		}
		p.printSiteKey(made)
		return nil
	})
	tenantFlag(c, &id)
	f := c.Flags()
	f.StringVar(&body.KID, "kid", "", "the key's `ID` in the site's tokens (default: that of the JWK, else the key's thumbprint)")
	f.StringVar(&from, "not-before", "", "`TIME` from which it is good, such as 2026-12-24, or 2h from now (default: now)")
	f.StringVar(&to, "not-after", "", "`TIME` from which it is not any more (default: never)")
	return explained(c, `Takes an RSA public key of 2048 to 8192 bits, as PEM or as a JSON Web Key. The
private half stays at the site; a file that holds one is refused unread. The
sha256 that is shown is that of: openssl pkey -pubin -outform DER | sha256sum`, `  interlock site key add site_0123456789abcdef public.pem --tenant acme
  openssl pkey -in private.pem -pubout | interlock site key add site_0123456789abcdef --kid 2027`)
}

// between allows low to high arguments; names are those that must be there.
func between(low, high int, names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		if len(args) > high {
			return usageError("%s takes %s at most, and %q is one too many", c.CommandPath(), count(high, "argument"), args[high])
		}
		return arguments(names...)(c, args)
	}
}

// maxPublicKey bounds the file of a public key, in bytes.
const maxPublicKey = 16 << 10

// readPublicKey reads a key from the file that args name, or the standard
// input. What looks like a private key goes no further.
func (p *program) readPublicKey(args []string, body *operators.NewSiteKey) error {
	from := p.in
	if len(args) > 0 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return usageError("the file %s can't be read", args[0])
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPublicKey+1))
	switch text = bytes.TrimSpace(text); {
	case err != nil:
		return usageError("the key can't be read; name a file, or pipe it")
	case len(text) == 0 || len(text) > maxPublicKey:
		return usageError("a public key is 1 to %d bytes of PEM or JWK", maxPublicKey)
	case site.HoldsPrivate(string(text)):
		return usageError("that is a private key; it stays at the site. Give its public half: openssl pkey -in FILE -pubout")
	case text[0] == '{' && !json.Valid(text):
		return usageError("the JWK is not whole: it is no JSON")
	case text[0] == '{':
		body.JWK = json.RawMessage(text)
	default:
		body.PEM = string(text)
	}
	return nil
}

func (p *program) siteKeyDisable() *cobra.Command {
	var id string
	c := p.operatorCommand("disable SITE KID", "refuse all tokens of one key, for ever", arguments("the site's id", "the key's id"), func(cl *client, args []string) error {
		if err := cl.remove(p.ctx, operators.SiteKeyPath(id, args[0], args[1]), nil); err != nil {
			return err
		}
		if p.json {
			return p.done("disabled", args[1])
		}
		p.printf("the key %s is disabled: every token that it signed is refused\n", printable(args[1]))
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Refuses every token that the key signed, from now on and for ever. Its id can't
be used for another key while the site is remembered with it: its last 50 keys
are. Write -- before a KID that begins with a hyphen.`, `  interlock site key disable site_0123456789abcdef 2026 --tenant acme`)
}
