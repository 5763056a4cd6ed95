package start

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

const (
	// maxNoise bounds the output of a login shell before the greeting, in bytes.
	maxNoise = 64 << 10
	// maxGreeting bounds the greeting line, in bytes. The line carries facts.
	maxGreeting = 4 << 20
)

// errEnded reports that the output ended.
var errEnded = errors.New("the output ended")

// An answer is the outcome of running the script.
type answer struct {
	hello    []byte // the greeting line, without its end
	os, arch string // need
	fail     string // fail; or need of a host that has no gzip, as failNoGzip
	dir      string // either
}

// An answerReader finds the lines that answer to nonce in the output of a login shell. Noise need not end with a
// newline, so an answer may begin in the middle of a line. The nonce marks it.
type answerReader struct {
	nonce    string
	greeting []byte
	noise    []byte
}

// next reads up to the next answer. It consumes nothing beyond its line.
func (r *answerReader) next(out *bufio.Reader) (answer, error) {
	for {
		line, err := r.line(out)
		if a, ok := r.parse(line); ok && err == nil {
			return a, nil
		}
		r.noise = append(r.noise, line[:min(len(line), maxNoise+1-len(r.noise))]...)
		switch {
		case len(r.noise) > maxNoise:
			return answer{}, fmt.Errorf("more than %d KiB were printed before its greeting", maxNoise>>10)
		case errors.Is(err, io.EOF):
			return answer{}, errEnded
		case err != nil:
			return answer{}, err
		}
	}
}

// line reads one line with its end. It stops early where noise is too long.
func (r *answerReader) line(out *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := out.ReadSlice('\n')
		line = append(line, part...)
		greets := bytes.Contains(line, r.greeting)
		switch {
		case greets && len(line) > maxGreeting:
			return nil, fmt.Errorf("its greeting is longer than %d MiB", maxGreeting>>20)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case !greets && len(r.noise)+len(line) > maxNoise:
			return line, nil
		}
	}
}

// parse recognises an answer.
func (r *answerReader) parse(line []byte) (answer, bool) {
	if i := bytes.Index(line, r.greeting); i >= 0 {
		return answer{hello: bytes.TrimRight(line[i:], "\r\n")}, true
	}
	text := string(line)
	if _, rest, ok := strings.Cut(text, "need "+r.nonce+" "); ok {
		rest, dir, lacking := strings.Cut(strings.TrimSpace(rest), " "+failNoGzip+" ")
		if words := strings.Fields(rest); len(words) == 2 {
			a := answer{os: words[0], arch: words[1], dir: dir}
			if lacking {
				a.fail = failNoGzip
			}
			return a, true
		}
	}
	if _, rest, ok := strings.Cut(text, "fail "+r.nonce+" "); ok {
		word, dir, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if word != "" {
			return answer{fail: word, dir: dir}, true
		}
	}
	return answer{}, false
}

// quotedNoise is an excerpt of noise, fit for a message; "" without noise.
func quotedNoise(noise string) string {
	if strings.TrimSpace(noise) == "" {
		return ""
	}
	return transport.QuoteExcerpt(noise)
}
