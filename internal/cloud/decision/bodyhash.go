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
	h := &fieldHash{Hash: sha256.New()}
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

// fieldHash writes fields through a buffer: a prompt is not copied for it.
type fieldHash struct {
	hash.Hash
	buffer [1024]byte
}

func (h *fieldHash) number(n int) {
	h.Write(binary.BigEndian.AppendUint64(h.buffer[:0], uint64(n)))
}

func (h *fieldHash) text(s string) {
	h.number(len(s))
	for len(s) > 0 {
		n := copy(h.buffer[:], s)
		h.Write(h.buffer[:n])
		s = s[n:]
	}
}
