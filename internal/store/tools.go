package store

import (
	"crypto/sha256"
	"encoding/binary"

	"interlock/internal/tool"
)

// Digest names a body by its content.
func Digest(body []byte) [32]byte { return sha256.Sum256(body) }

// EncodeTools writes specs so that DecodeTools gives back the same bytes, each
// parameter schema as it was sent; equal sets encode equally.
func EncodeTools(specs []tool.Spec) []byte {
	size := 0
	for _, s := range specs {
		size += len(s.Name) + len(s.Description) + len(s.Parameters) + 12
	}
	out := make([]byte, 0, size)
	for _, s := range specs {
		out = appendLiteral(out, []byte(s.Name))
		out = appendLiteral(out, []byte(s.Description))
		out = appendLiteral(out, s.Parameters)
	}
	return out
}

// DecodeTools reads what EncodeTools wrote.
func DecodeTools(b []byte) ([]tool.Spec, error) {
	var specs []tool.Spec
	field := func() []byte {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(len(b)-n) {
			b = nil
			return nil
		}
		f := b[n : n+int(v)]
		b = b[n+int(v):]
		return f
	}
	for len(b) > 0 {
		s := tool.Spec{Name: string(field()), Description: string(field()), Parameters: field()}
		if s.Name == "" || s.Parameters == nil {
			return nil, errBody
		}
		specs = append(specs, s)
	}
	return specs, nil
}
