package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
)

// ErrEnrolled is the refusal to replace a credential that is there.
var ErrEnrolled = fault.New(fault.Conflict, "already_enrolled", "this host is enrolled already")

// enrollPatience bounds Enroll: a person waits for it.
const enrollPatience = 10 * time.Second

// Enroll makes this machine a host with a one-use enrolment token, and writes
// the credential file into cfg.StateDir. It refuses to replace a credential
// file that is there. The same token again, after an answer that was lost,
// finishes the same enrolment: the idempotency key is derived from it.
//
// It blocks for at most ten seconds. Errors: enrol_token_invalid, those of
// Config.Validate, ErrEnrolled, server_unreachable,
// server_certificate, host_storage.
func Enroll(ctx context.Context, cfg Config, token secret.String) error {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return err
	}
	if token.Empty() {
		return fault.New(fault.Invalid, "enrol_token_missing", "there is no enrolment token; ask an operator for one (interlock host token)")
	}
	if err := makePrivate(cfg.StateDir); err != nil {
		return err
	}
	unlock, err := lockDir(cfg.StateDir)
	if err != nil {
		return err
	}
	defer unlock()
	file := filepath.Join(cfg.StateDir, credentialFile)
	var old identity
	if err := readPrivate(file, &old); !errors.Is(err, fs.ErrNotExist) {
		return alreadyEnrolled(file, old, err)
	}
	reply, err := requestEnrolment(ctx, cfg, token)
	if err != nil {
		return err
	}
	cfg.Logger.Info("enrolled", "host", reply.HostID)
	return writeState(file, identity{Server: cfg.Server, HostID: reply.HostID, Current: newCredential(reply, cfg.Clock())})
}

func alreadyEnrolled(file string, old identity, err error) error {
	if err != nil {
		return err
	}
	return fault.New(ErrEnrolled.Kind, ErrEnrolled.Code, "this host is enrolled at %s as %s; remove %s to enroll it anew", old.Server, old.HostID, file)
}

func requestEnrolment(ctx context.Context, cfg Config, token secret.String) (hostapi.CredentialReply, error) {
	var reply hostapi.CredentialReply
	c, err := newClient(cfg, nil)
	if err != nil {
		return reply, err
	}
	defer c.close()
	cl, err := newCall(hostapi.PathEnroll, hostapi.EnrollRequest{Token: secret.Expose(token), Name: cfg.Name,
		Labels: cfg.Labels, Devices: cfg.offered(), Version: cfg.Version})
	if err != nil {
		return reply, err
	}
	sum := sha256.Sum256([]byte("interlock enrolment key\n" + token.Reveal()))
	cl.key = hex.EncodeToString(sum[:])
	ctx, cancel := context.WithTimeoutCause(ctx, enrollPatience, errUnreachable)
	defer cancel()
	if err := c.persist(ctx, cl, &reply, waitable); err != nil {
		return reply, err
	}
	return reply, checkReply(reply)
}

// waitable reports whether waiting may help: not where a person has to act.
func waitable(err error) bool { return repeatable(err) && !errors.Is(err, errCertificate) }
