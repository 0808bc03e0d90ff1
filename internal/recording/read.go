package recording

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"interlock/internal/device"
	"interlock/internal/fault"
)

// Open reads the recording in the file at path. A file that is none is
// ErrInvalid; one that is not there or can't be read is a fault of kind
// NotFound.
func Open(path string) (Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recording{}, fault.New(fault.NotFound, "recording_missing", "the recording %s can't be read; check its path and permissions", path).Because(err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return Recording{}, fault.New(fault.NotFound, "recording_missing", "the recording %s can't be read; check its path and permissions", path).Because(err)
	}
	if len(content) > maxFileBytes {
		return Recording{}, ErrInvalid.Because(errors.New("the file is too large"))
	}
	r, err := decode(content)
	if err != nil {
		return Recording{}, ErrInvalid.Because(err)
	}
	return r, nil
}

// decode reads an object a line: the task, the turns, the end.
func decode(content []byte) (r Recording, err error) {
	lines := bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
	if len(lines) < 2 || len(lines) > maxTurns+2 {
		return r, errors.New("too few or too many lines")
	}
	strict := json.RejectUnknownMembers(true)
	if err := json.Unmarshal(lines[0], &r.Task, strict); err != nil {
		return r, err
	}
	if r.Task.Version != version {
		return r, errors.New("another version")
	}
	if err := r.Task.Policy.Validate(); err != nil {
		return r, err
	}
	for _, line := range lines[1 : len(lines)-1] {
		var t Turn
		if err := json.Unmarshal(line, &t, strict); err != nil {
			return r, err
		}
		if len(t.Scene.Elements) > device.MaxElements {
			return r, errors.New("too many elements")
		}
		r.Turns = append(r.Turns, t)
	}
	return r, json.Unmarshal(lines[len(lines)-1], &r.End, strict)
}
