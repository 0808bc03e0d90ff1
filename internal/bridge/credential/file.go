package credential

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/fault"
	"interlock/internal/filelock"
	"interlock/internal/secret"
	"interlock/internal/wholefile"
)

// Limits of a keyset file.
const (
	maxFile = 64 << 10 // bytes
	maxKeys = 64
)

// keysetFile is the file's content, in JSON.
type keysetFile struct {
	Primary string    `json:"primary"`
	Keys    []keyFile `json:"keys"`
}

type keyFile struct {
	ID      string    `json:"id"`
	Key     []byte    `json:"key"` // base64
	Created time.Time `json:"created"`
}

// OpenKeyset reads the keyset in a file that belongs to this user and that
// nobody else can read. Faults keyset_missing, keyset_mode and keyset_file.
func OpenKeyset(path string) (*Keyset, error) {
	b, err := readOwn(path)
	if err != nil {
		return nil, err
	}
	var f keysetFile
	if err := json.Unmarshal(b, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, damaged(path) // without the cause: it may quote the file
	}
	k := &Keyset{primary: f.Primary}
	known := map[string]bool{}
	for _, in := range f.Keys {
		if !isKeyID(in.ID) || known[in.ID] || len(in.Key) != keySize {
			return nil, damaged(path)
		}
		known[in.ID] = true
		k.keys = append(k.keys, key{id: in.ID, value: secret.New(string(in.Key)), createdAt: in.Created})
	}
	if !known[k.primary] || len(k.keys) > maxKeys {
		return nil, damaged(path)
	}
	return k, nil
}

func damaged(path string) error {
	return fault.New(fault.Invalid, "keyset_file", "%s is not a keyset that Interlock wrote, or it is damaged; restore it from a backup", path)
}

// isKeyID reports whether s is 1 to 64 of a-z, 0-9 and '_'.
func isKeyID(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// readOwn reads a small file, refusing one that is anybody else's business. It
// looks at the file that it has opened, so that none can be put in its place.
func readOwn(path string) ([]byte, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "keyset_missing", "there is no keyset file %s; make one with: interlock credential keyset new %s", path, path)
	case err != nil:
		return nil, fault.New(fault.Forbidden, "keyset_mode", "the keyset file %s can't be read by this user; make the file this user's own", path).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, damaged(path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fault.New(fault.Forbidden, "keyset_mode", "the keyset file %s can be read by other users of this machine (mode %04o); run: chmod 600 %s", path, info.Mode().Perm(), path)
	case !ours(info):
		return nil, fault.New(fault.Forbidden, "keyset_mode", "the keyset file %s belongs to another user; make the file this user's own", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, damaged(path)
	}
	return b, nil
}

// CreateKeyset writes a keyset of one new key to a new file of mode 0600 and
// returns the key's id. Faults keyset_exists and keyset_unwritable.
func CreateKeyset(path string, now time.Time) (keyID string, err error) {
	k := NewKeyset(now)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fault.New(fault.Conflict, "keyset_exists", "%s is there already, and without it nothing that it sealed can be opened; add a key to it with: interlock credential keyset add %s", path, path)
	case err != nil:
		return "", unwritable(path, err)
	}
	text, err := k.encode()
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path)
		return "", unwritable(path, err)
	}
	if err := wholefile.SyncFolder(filepath.Dir(path)); err != nil {
		return "", unwritable(path, err)
	}
	return k.primary, nil
}

// AddKey adds a new key to the keyset file, from now on its primary, and
// returns the key's id. After a crash at any moment the file is the old one or
// the new one, whole; of several commands at once one adds its key and the others
// are refused, so that no key that was ever named is lost. Running servers read
// the file when they start. Faults as of OpenKeyset, keyset_busy, keyset_full and
// keyset_unwritable.
func AddKey(path string, now time.Time) (keyID string, err error) {
	if _, err := OpenKeyset(path); err != nil { // no lock beside what is no keyset
		return "", err
	}
	lock, err := lockKeyset(path)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	return addKey(path, now)
}

// lockKeyset keeps others from changing the file, whatever name they know it by.
func lockKeyset(path string) (filelock.Lock, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filelock.Lock{}, unwritable(path, err)
	}
	lock, err := filelock.Take(target + ".lock")
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return lock, fault.New(fault.Conflict, "keyset_busy", "another command is adding a key to %s; wait until it has ended, and add another only if you need two", path)
	case err != nil:
		return lock, unwritable(path, err)
	}
	return lock, nil
}

func addKey(path string, now time.Time) (keyID string, err error) {
	k, err := OpenKeyset(path)
	if err != nil {
		return "", err
	}
	if len(k.keys) == maxKeys {
		return "", fault.New(fault.Exhausted, "keyset_full", "%s has %d keys; remove those that no credential is sealed with any more", path, maxKeys)
	}
	k = k.with(newKey(now))
	text, err := k.encode()
	if err == nil {
		err = wholefile.Replace(path, text)
	}
	if err != nil {
		return "", unwritable(path, err)
	}
	return k.primary, nil
}

func unwritable(path string, cause error) error {
	return fault.New(fault.Unavailable, "keyset_unwritable", "the keyset file %s can't be written; check its folder, its permissions and the disk", path).Because(cause)
}

// encode returns k as its file holds it.
func (k *Keyset) encode() ([]byte, error) {
	out := keysetFile{Primary: k.primary}
	for _, in := range k.keys {
		out.Keys = append(out.Keys, keyFile{ID: in.id, Key: []byte(in.value.Reveal()), Created: in.createdAt})
	}
	b, err := json.Marshal(out, jsontext.Multiline(true))
	return append(b, '\n'), err
}
