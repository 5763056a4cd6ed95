package start

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Build is the host program for one kind of system.
type Build struct {
	OS, Arch string // Go's names: linux, amd64
	SHA256   string // SHA-256 of the program, in lower-case hex
	Size     int64  // size of the program, in bytes
	// Compressed returns the program in gzip: CompressedSize bytes with the SHA-256 CompressedSHA256, in lower-case
	// hex. It is called only if a host lacks the program, and several goroutines may call it at once.
	Compressed       func() ([]byte, error)
	CompressedSize   int64
	CompressedSHA256 string
}

// header goes before the build to a script that waits for it.
func (b Build) header() string { return fmt.Sprintf("%d %s\n", b.CompressedSize, b.CompressedSHA256) }

// headerOf names a file on the host that replaces the data after the header.
func (b Build) headerOf(path string) string {
	return fmt.Sprintf("%d %s %s\n", b.CompressedSize, b.CompressedSHA256, path)
}

// A Request describes how to start the host program.
type Request struct {
	Nonce string // letters and digits; must differ for every start
	// Greeting is the begin of the host program's first line. Output before it is skipped.
	Greeting []byte
	Facts    string // an argument of the module: collector names separated by commas, or "-"
	Builds   []Build
	Become   *Become // nil runs it as the login user
	// Timeout is the longest time until the greeting. The upload does not count, but must make progress within it. 0
	// means 30s.
	Timeout time.Duration
	// Near copies a build, in gzip, from a third machine to a host that lacks it. It returns the path of the file on
	// the host, or "" if it cannot copy the build. The host uses the file only if it has the right hash. nil disables
	// it. Near is not called for a host without gzip, or if the program runs as a user who cannot read the login user's
	// files.
	Near func(b Build) (path string)
	// Sent receives the number of sent bytes of the program, and its size. It must be quick. nil disables it.
	Sent func(n, size int64)
}

// sent reports sent bytes.
func (r Request) sent(n, size int64) {
	if r.Sent != nil {
		r.Sent(n, size)
	}
}

const defaultStartTimeout = 30 * time.Second

func (r Request) validate() error {
	switch {
	case !isNonce(r.Nonce):
		return fmt.Errorf("nonce %q is not 8 to 64 letters and digits", r.Nonce)
	case len(r.Greeting) == 0:
		return errors.New("no greeting to wait for")
	}
	if err := r.Become.validate(); err != nil {
		return err
	}
	for _, b := range r.Builds {
		for _, sum := range []string{b.SHA256, b.CompressedSHA256} {
			if !isDigest(sum) {
				return fmt.Errorf("build %s/%s: %q is not a SHA-256 in hex", b.OS, b.Arch, sum)
			}
		}
	}
	return nil
}

// Forms of words that a host receives or sends.

// pattern returns a regular expression that is compiled at its first use: most runs need none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

const (
	hexDigits = "0123456789abcdef"
	alnum     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// consists reports whether a text has nothing but the characters in chars, all of
// which are ASCII.
func consists(text, chars string) bool { return strings.Trim(text, chars) == "" }

// isNonce reports whether s is 8 to 64 letters and digits.
func isNonce(s string) bool { return len(s) >= 8 && len(s) <= 64 && consists(s, alnum) }

// isDigest reports whether s is a SHA-256 in lower-case hex.
func isDigest(s string) bool { return len(s) == 64 && consists(s, hexDigits) }
