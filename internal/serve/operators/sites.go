package operators

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/bridge/site"
	"interlock/internal/fault"
)

const (
	routeSites = PathTenants + "/{tenant}/sites"
	routeSite  = routeSites + "/{site}"
)

func (d *Door) mountSites(api huma.API) {
	create := op("POST "+routeSites, "create-site", "Register a site; it can call once it has a key")
	create.DefaultStatus = http.StatusCreated
	add(d, api, create, d.createSite)
	add(d, api, op("GET "+routeSites, "list-sites", "List a tenant's sites, by id"), d.listSites)
	add(d, api, op("GET "+routeSite, "get-site", "Show one site and its keys"), d.getSite)
	add(d, api, op("PATCH "+routeSite, "change-site", "Change a site's name or rate, disable or enable it"), d.changeSite)
	addKey := op("POST "+routeSite+"/keys", "add-site-key", "Give a site a public key")
	addKey.DefaultStatus = http.StatusCreated
	add(d, api, addKey, d.addSiteKey)
	add(d, api, op("DELETE "+routeSite+"/keys/{kid}", "disable-site-key", "Refuse every token of a key, at once and for ever"), d.disableSiteKey)
}

type createSiteInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Body   NewSite
}

func (d *Door) createSite(ctx context.Context, o operator, in *createSiteInput) (*reply[Site], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	made, err := d.Sites.Create(ctx, t, o.by, site.NewSite{Name: in.Body.Name, PerMinute: in.Body.PerMinute, Burst: in.Body.Burst})
	return answer(d.siteView(made), err)
}

type listSitesInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" maxLength:"64"`
}

func (d *Door) listSites(ctx context.Context, o operator, in *listSitesInput) (*reply[SitePage], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	found, err := d.Sites.Sites(ctx, t, site.ID(in.Cursor), in.Limit+1)
	var page SitePage
	page.Sites, page.NextCursor = cut(found, in.Limit, d.siteView, func(s Site) string { return s.ID })
	return answer(page, err)
}

// aSite names one site of a tenant.
type aSite struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Site   string `path:"site" maxLength:"64"`
}

func (d *Door) getSite(ctx context.Context, o operator, in *aSite) (*reply[Site], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	s, err := d.Sites.Site(ctx, t, site.ID(in.Site))
	return answer(d.siteView(s), err)
}

type changeSiteInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Site   string `path:"site" maxLength:"64"`
	Body   SiteChange
}

// changeSite makes the change, then turns the switch: two facts, each whole by
// itself, and the same request again makes both so.
func (d *Door) changeSite(ctx context.Context, o operator, in *changeSiteInput) (*reply[Site], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	id, c := site.ID(in.Site), in.Body
	var after site.Site
	if c.Name != nil || c.PerMinute != nil || c.Burst != nil {
		if after, err = d.Sites.Change(ctx, t, o.by, id, site.Change{Name: c.Name, PerMinute: c.PerMinute, Burst: c.Burst}); err != nil {
			return nil, err
		}
	}
	switch {
	case c.Disabled == nil && after.ID == "":
		return nil, errNoChange
	case c.Disabled == nil:
	case *c.Disabled:
		after, err = d.Sites.DisableSite(ctx, t, o.by, id)
	default:
		after, err = d.Sites.EnableSite(ctx, t, o.by, id)
	}
	return answer(d.siteView(after), err)
}

var errNoChange = fault.New(fault.Invalid, "invalid_request", "the body changes nothing; name what to change")

type addSiteKeyInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Site   string `path:"site" maxLength:"64"`
	Body   NewSiteKey
}

func (d *Door) addSiteKey(ctx context.Context, o operator, in *addSiteKeyInput) (*reply[SiteKey], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	text := in.Body.PEM
	if (text == "") == (len(in.Body.JWK) == 0) {
		return nil, fault.New(fault.Invalid, "invalid_request", "give the public key as pem or as jwk, one of them")
	}
	if text == "" {
		text = string(in.Body.JWK)
	}
	k, err := d.Sites.AddKey(ctx, t, o.by, site.ID(in.Site), site.KeyInput{Text: text, KID: in.Body.KID, NotBefore: in.Body.NotBefore, NotAfter: in.Body.NotAfter})
	if err != nil {
		return nil, err
	}
	return answer(d.siteKeyView(k), nil)
}

type aSiteKey struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Site   string `path:"site" maxLength:"64"`
	KID    string `path:"kid" maxLength:"128"`
}

func (d *Door) disableSiteKey(ctx context.Context, o operator, in *aSiteKey) (*done, error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	return nil, d.Sites.DisableKey(ctx, t, o.by, site.ID(in.Site), in.KID)
}

func (d *Door) siteView(s site.Site) Site {
	v := Site{ID: string(s.ID), Tenant: string(s.Tenant), Name: s.Name, PerMinute: s.PerMinute, Burst: s.Burst,
		CreatedAt: s.CreatedAt, DisabledAt: s.DisabledAt, Keys: []SiteKey{}}
	for _, k := range s.Keys {
		v.Keys = append(v.Keys, d.siteKeyView(k))
	}
	return v
}

func (d *Door) siteKeyView(k site.Key) SiteKey {
	der, err := x509.MarshalPKIXPublicKey(k.Public)
	if err != nil {
		panic("an RSA key in DER form: " + err.Error()) // it has one always
	}
	sum := sha256.Sum256(der)
	v := SiteKey{KID: k.KID, State: "active", Bits: k.Public.N.BitLen(), SHA256: hex.EncodeToString(sum[:]),
		NotBefore: k.NotBefore, NotAfter: k.NotAfter, CreatedAt: k.CreatedAt, DisabledAt: k.DisabledAt}
	switch now := d.Now(); {
	case !k.DisabledAt.IsZero():
		v.State = "disabled"
	case !k.NotAfter.IsZero() && !now.Before(k.NotAfter):
		v.State = "expired"
	case now.Before(k.NotBefore):
		v.State = "pending"
	}
	return v
}
