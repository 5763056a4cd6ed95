package privatekey

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// unpack looks into what data is an archive of.
func (s *search) unpack(data []byte, depth int) {
	has := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	in := bytes.NewReader(data)
	switch {
	case has("\x1f\x8b"):
		if r, err := gzip.NewReader(in); s.opened(err) {
			s.stream(r, depth)
		}
	case has("BZh"):
		s.stream(bzip2.NewReader(in), depth)
	case has("\x28\xb5\x2f\xfd"):
		r, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxOpened))
		if s.opened(err) {
			defer r.Close()
			s.stream(r, depth)
		}
	case has("\xfd7zXZ\x00"), has("7z\xbc\xaf\x27\x1c"), has("\x04\x22\x4d\x18"), has("Rar!"):
		s.whole = false
	case has("PK\x03\x04"):
		r, err := zip.NewReader(in, int64(len(data)))
		if !s.opened(err) {
			return
		}
		for _, f := range r.File {
			if one, err := f.Open(); s.opened(err) {
				s.stream(one, depth)
				one.Close()
			}
		}
	case len(data) > 262 && string(data[257:262]) == "ustar":
		r := tar.NewReader(in)
		for {
			_, err := r.Next()
			if errors.Is(err, io.EOF) || !s.opened(err) {
				return
			}
			s.stream(r, depth)
		}
	case len(data) > 2 && data[0] == 0x78 && (int(data[0])<<8|int(data[1]))%31 == 0:
		if r, err := zlib.NewReader(in); err == nil { // else it is text
			s.stream(r, depth)
		}
	default:
		s.embedded(data, depth)
	}
}

// embedded searches data that follow others in a file, such as a script that unpacks itself. Data that only look like
// an archive are not an error.
func (s *search) embedded(data []byte, depth int) {
	const most = 64 // archives
	part := func(r io.Reader) {
		inner, _ := io.ReadAll(io.LimitReader(r, s.budget+1))
		if s.budget -= int64(len(inner)); s.budget < 0 {
			s.whole, s.budget = false, 0
		}
		s.look(inner, depth+1)
	}
	rest := data
	for range most {
		at := bytes.Index(rest, []byte("\x1f\x8b\x08"))
		if at < 0 {
			break
		}
		if r, err := gzip.NewReader(bytes.NewReader(rest[at:])); err == nil {
			part(r)
		}
		rest = rest[at+1:]
	}
	if !bytes.Contains(data, []byte("PK\x05\x06")) {
		return
	}
	if r, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, f := range r.File {
			if one, err := f.Open(); err == nil {
				part(one)
				one.Close()
			}
		}
	}
}

func (s *search) opened(err error) bool {
	if err != nil {
		s.whole = false
	}
	return err == nil
}

// stream looks into what a reader has.
func (s *search) stream(r io.Reader, depth int) {
	data, err := io.ReadAll(io.LimitReader(r, s.budget+1))
	if s.budget -= int64(len(data)); err != nil || s.budget < 0 {
		s.whole, s.budget = false, max(s.budget, 0)
	}
	s.look(data, depth+1)
}

// minRun is the length of the shortest encoded text that is decoded: fewer bytes hold no key.
const minRun = 40

// decode looks into runs of base64 and of hexadecimal digits. A run may have line ends, also escaped ones, and indentation.
func (s *search) decode(data []byte, depth int) {
	run := make([]byte, 0, minRun)
	var lines []int // where each begins in run
	end := func() {
		if len(run) >= minRun {
			s.decodeRun(run, lines, depth)
		}
		run, lines = run[:0], append(lines[:0], 0)
	}
	lines = append(lines, 0)
	for i := 0; i < len(data); {
		if data[i] == '\\' && i+1 < len(data) && data[i+1] == '/' { // as some programs write a slash in JSON
			i++
		}
		if isBase64[data[i]] {
			run = append(run, data[i])
			i++
			continue
		}
		if n := lineEnd(data[i:]); n > 0 && len(run) > 0 {
			i += n
			lines = append(lines, len(run))
			continue
		}
		for i < len(data) && data[i] == '=' {
			i++
		}
		end()
		for i < len(data) && !isBase64[data[i]] {
			i++
		}
	}
	end()
}

var isBase64 = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		is[c] = true
	}
	return is
}()

// lineEnd returns the number of bytes that end a line and indent the next one, or 0.
func lineEnd(data []byte) (n int) {
	ends := false
	for n < len(data) {
		switch {
		case data[n] == '\n' || data[n] == '\r':
			ends = true
			n++
		case data[n] == ' ' || data[n] == '\t':
			n++
		case data[n] == '\\' && n+1 < len(data) && (data[n+1] == 'n' || data[n+1] == 'r' || data[n+1] == '\n'):
			ends = true
			n += 2
		default:
			if !ends {
				return 0
			}
			return n
		}
	}
	return n
}

func (s *search) decodeRun(run []byte, lines []int, depth int) {
	const tries = 8 // lines of other text before the first encoded one
	last := -1
	for i, from := range lines {
		to := len(run)
		if i+1 < len(lines) {
			to = lines[i+1]
		}
		if i > 0 && (to-from < minRun || to-from == last) || i > tries { // a longer line after shorter ones may begin the text
			continue
		}
		last = to - from
		s.decodeText(run[from:], depth)
	}
}

func (s *search) decodeText(text []byte, depth int) {
	if s.budget -= int64(len(text)); s.budget < 0 {
		s.whole, s.budget = false, 0
		return
	}
	plain := bytes.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, text)
	plain = plain[:len(plain)/4*4+tail(len(plain))]
	if out := make([]byte, base64.RawStdEncoding.DecodedLen(len(plain))); len(out) > 0 {
		if n, err := base64.RawStdEncoding.Decode(out, plain); err == nil {
			s.look(out[:n], depth+1)
		}
	}
	if out := make([]byte, len(text)/2); len(text)%2 == 0 {
		if n, err := hex.Decode(out, text); err == nil {
			s.look(out[:n], depth+1)
		}
	}
}

// tail returns the number of decoded digits after the last whole group of four: a single digit is not a byte.
func tail(n int) int {
	if n%4 == 1 {
		return 0
	}
	return n % 4
}
