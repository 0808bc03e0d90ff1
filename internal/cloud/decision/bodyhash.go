package decision

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"interlock/internal/llm"
)

// bodyHash identifies what a request asks, so that one key is not used for two
// questions: length-prefixed fields, the tools and the screenshot by hashes of
// their own. The timeout is not part of it; a repeat has less time left and asks the same.
func bodyHash(r llm.Request, picture *llm.Evidence) [32]byte {
	h := fieldHash{sha256.New()}
	h.text("interlock decide 2")
	h.text(r.System)
	h.text(r.User)
	tools := r.Tools.Digest()
	h.Write(tools[:])
	if picture != nil {
		h.text(string(picture.SHA256[:]))
	}
	return [32]byte(h.Sum(nil))
}

type fieldHash struct{ hash.Hash }

func (h fieldHash) number(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func (h fieldHash) text(s string) {
	h.number(len(s))
	h.Write([]byte(s))
}
