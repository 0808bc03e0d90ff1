package abnindex

import (
	"archive/zip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode"

	"interlock/internal/fault"
)

// The bounds of a file. The register's zips hold ten files of about 630 MB
// each, which zip to a thirteenth.
const (
	maxEntries = 1000
	maxPart    = 16 << 30 // bytes of one XML file
	maxRatio   = 250      // of its size to that in the zip
)

// source is one file given to an import: a zip of XML files, or one XML file.
type source struct {
	name        string // without its folder
	size        int64
	fingerprint [sha256.Size]byte
	parts       []partFile

	file *os.File
	read atomic.Int64 // bytes read since the current part began
}

// partFile is one XML file of a source.
type partFile struct {
	name  string
	bytes int64 // that it takes in the source
	open  func() (io.ReadCloser, error)
}

// openSource reads what is in a file. The caller closes it.
func openSource(path string) (*source, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, extractError("the file %s does not exist", path)
	case err != nil:
		return nil, extractError("the file %s can't be read by this user", path).Because(err)
	}
	s := &source{name: filepath.Base(path), file: f}
	if err := s.inspect(path); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *source) close() { s.file.Close() }

// ReadAt counts what is read.
func (s *source) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.file.ReadAt(b, at)
	s.read.Add(int64(n))
	return n, err
}

func (s *source) inspect(path string) error {
	info, err := s.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return extractError("%s is no ordinary file", path).Because(err)
	}
	s.size = info.Size()
	if s.fingerprint, err = fingerprint(s.file, s.size); err != nil {
		return extractError("the file %s can't be read", path).Because(err)
	}
	if !zipped(s.file) {
		s.parts = []partFile{{name: s.name, bytes: s.size, open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(s, 0, s.size)), nil
		}}}
		return nil
	}
	return s.unzip()
}

// zipped reports whether the file begins as a zip does.
func zipped(f io.ReaderAt) bool {
	head := make([]byte, 2)
	_, err := f.ReadAt(head, 0)
	return err == nil && string(head) == "PK"
}

// unzip finds the XML files. Whatever else a zip holds is left alone; names
// are shown and never used as paths.
func (s *source) unzip() error {
	z, err := zip.NewReader(s, s.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return extractError("the zip %s is damaged or cut short; download it again", s.name).Because(err)
	}
	if len(z.File) > maxEntries {
		return extractError("the zip %s holds more than %d files; it is no extract of the register", s.name, maxEntries)
	}
	for _, f := range z.File {
		if f.Mode().IsDir() || !strings.EqualFold(filepath.Ext(f.Name), ".xml") {
			continue
		}
		switch {
		case f.Flags&1 != 0:
			return extractError("the zip %s is encrypted; extracts of the register are not", s.name)
		case f.UncompressedSize64 > maxPart || f.UncompressedSize64 > maxRatio*max(f.CompressedSize64, 1<<12):
			return extractError("a file in the zip %s is too large when it is unpacked; it is no extract of the register", s.name)
		}
		s.parts = append(s.parts, partFile{name: cleanName(f.Name), bytes: int64(f.CompressedSize64), open: f.Open})
	}
	if len(s.parts) == 0 {
		return extractError("the zip %s holds no XML file; it is no extract of the register", s.name)
	}
	return nil
}

// cleanName makes a name in a zip fit to be shown.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	if r := []rune(name); len(r) > 100 {
		name = string(r[:100])
	}
	return name
}

// fingerprinted is how many bytes of either end identify a file; a zip's last
// ones hold the checksum of every file in it.
const fingerprinted = 1 << 20

// fingerprint identifies a file's content without reading gigabytes.
func fingerprint(f io.ReaderAt, size int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	fmt.Fprintln(h, size)
	for _, from := range []int64{0, max(0, size-fingerprinted)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, from, fingerprinted)); err != nil {
			return sum, err
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// errExtract is every extractError to errors.Is.
var errExtract = extractError("the extract is refused")

// extractError says what is wrong with a file given to an import.
func extractError(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "abn_extract", format, args...)
}
