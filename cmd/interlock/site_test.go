package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// siteKey is the key pair of the scripts' sites.
var siteKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// writeSiteKey writes the public key of the scripts' sites: sitekey FILE
func writeSiteKey(ts *testscript.TestScript, _ bool, args []string) {
	public, err := site.Signer{Key: siteKey()}.PublicPEM()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(public), 0o644))
}

// callAsSite sends a request as a site does, with a token of its own, and
// writes the answer to a file:
//
//	ask FILE SITE TENANT KID SCOPE PATH BODY…
func callAsSite(ts *testscript.TestScript, _ bool, args []string) {
	signer := site.Signer{Key: siteKey(), Issuer: site.ID(args[1]), Subject: tenant.ID(args[2]), KID: args[3], Audience: "interlock"}
	token, err := signer.Token(args[4], time.Now())
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body := strings.Join(args[6:], " ")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+ts.Getenv("ADDRESS")+args[5], strings.NewReader(body))
	ts.Check(err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer reply.Body.Close()
	answer, err := io.ReadAll(reply.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), answer, 0o644))
}
