package store

import (
	"errors"

	"github.com/klauspost/compress/zstd"
)

// MaxBody bounds what Unpack and UnpackAgainst give back, in bytes.
const MaxBody = 32 << 20

// The forms of a packed body, its first byte.
const (
	formRaw  = 0
	formZstd = 1
)

// errBody means that a stored body is damaged.
var errBody = errors.New("a stored body can't be read: the database is damaged")

// The coders are shared: EncodeAll and DecodeAll are safe for concurrent use.
// Their options are constant, so neither constructor can fail.
var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxBody))
)

// Pack compresses a body that stands alone; one that does not shrink is kept
// as it is.
func Pack(body []byte) []byte {
	packed := encoder.EncodeAll(body, append(make([]byte, 0, 64+len(body)/2), formZstd))
	if len(packed) > len(body) {
		packed = append(append(packed[:0], formRaw), body...)
	}
	return packed
}

// Unpack reads what Pack wrote.
func Unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, errBody
	}
	switch form, rest := packed[0], packed[1:]; form {
	case formRaw:
		return rest, nil
	case formZstd:
		body, err := decoder.DecodeAll(rest, nil)
		if err != nil {
			return nil, errors.Join(errBody, err)
		}
		return body, nil
	}
	return nil, errBody
}

// PackAgainst packs a body that resembles base, which UnpackAgainst needs
// again: screens repeat, so most of a prompt was in an earlier one.
func PackAgainst(base, body []byte) []byte { return Pack(difference(base, body)) }

// UnpackAgainst reads what PackAgainst wrote, given the same base.
func UnpackAgainst(base, packed []byte) ([]byte, error) {
	diff, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	return apply(base, diff)
}
