package tool

import (
	"crypto/sha256"

	jsonv2 "github.com/go-json-experiment/json"
)

// read remembers sets by the JSON that they came as: a host offers the same few
// tools at each step. With what compiled holds, this bounds the schemas that
// strangers can make us keep.
var read = newRecent[*Set](256 << 10)

// Read returns the set that a JSON array of specs says, as NewSet makes it.
// Names of members are case-sensitive and distinct, and text is UTF-8. JSON
// that isn't such an array is malformed, the cause of which says where; specs
// that NewSet refuses are refused.
func Read(raw []byte) (s *Set, malformed, refused error) {
	key := sha256.Sum256(raw)
	if s, known := read.get(key); known {
		return s, nil, nil
	}
	var specs []Spec
	if err := jsonv2.Unmarshal(raw, &specs); err != nil {
		return nil, err, nil
	}
	if s, refused = NewSet(specs); refused != nil {
		return nil, nil, refused
	}
	read.put(key, s, len(raw))
	return s, nil, nil
}
