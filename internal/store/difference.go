package store

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// A difference is a sequence of (literal, copy) pairs: the length of a literal
// and its bytes, then the length of a piece of the base and where it starts;
// all numbers are unsigned varints. The last pair may lack its copy.
const (
	seed      = 12 // bytes that must agree before a piece is copied
	tableBits = 13
)

// place hashes the seed at the start of b.
func place(b []byte) uint32 {
	h := binary.LittleEndian.Uint64(b) ^ bits.RotateLeft64(uint64(binary.LittleEndian.Uint32(b[8:])), 29)
	return uint32(h * 0x9E3779B97F4A7C15 >> (64 - tableBits))
}

// tables are lent to differences: on a stack, one would make it grow. They hold
// places, never text.
var tables = sync.Pool{New: func() any { return new([1 << tableBits]int32) }}

// difference describes body by pieces of base, in one pass over each. The
// newest of colliding places wins; a missed match only costs space.
func difference(base, body []byte) []byte {
	table := tables.Get().(*[1 << tableBits]int32) // place -> offset in base + 1
	defer tables.Put(table)
	clear(table[:])
	for i := 0; i+seed <= len(base); i++ {
		table[place(base[i:])] = int32(i + 1)
	}
	out := make([]byte, 0, 64+len(body)/4)
	kept := 0 // body[:kept] is described
	for i := 0; i+seed <= len(body); {
		from := int(table[place(body[i:])]) - 1
		if from < 0 {
			i++
			continue
		}
		start, length := extend(base, body, from, i, kept)
		if length < seed {
			i++
			continue
		}
		out = appendLiteral(out, body[kept:start])
		out = binary.AppendUvarint(out, uint64(length))
		out = binary.AppendUvarint(out, uint64(from-(i-start)))
		kept = start + length
		i = kept
	}
	return appendLiteral(out, body[kept:])
}

// extend grows the match of base[from:] and body[at:] both ways, not below
// body[floor:], and returns where it starts in body and its length.
func extend(base, body []byte, from, at, floor int) (start, length int) {
	end := at
	for f := from; f < len(base) && end < len(body) && base[f] == body[end]; f++ {
		end++
	}
	if end-at < seed {
		return at, 0
	}
	start = at
	for f := from; f > 0 && start > floor && base[f-1] == body[start-1]; f-- {
		start--
	}
	return start, end - start
}

func appendLiteral(out, lit []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(lit))), lit...)
}

// apply rebuilds the body that diff describes against base.
func apply(base, diff []byte) ([]byte, error) {
	body := []byte{}
	for len(diff) > 0 {
		n, rest, ok := number(diff)
		if !ok || n > len(rest) || len(body)+n > MaxBody {
			return nil, errBody
		}
		body, diff = append(body, rest[:n]...), rest[n:]
		if len(diff) == 0 {
			break
		}
		n, rest, ok = number(diff)
		from, rest, ok2 := number(rest)
		if !ok || !ok2 || from > len(base) || n > len(base)-from || len(body)+n > MaxBody {
			return nil, errBody
		}
		body, diff = append(body, base[from:from+n]...), rest
	}
	return body, nil
}

// number reads a varint that fits a length.
func number(b []byte) (int, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > MaxBody {
		return 0, nil, false
	}
	return int(v), b[n:], true
}
