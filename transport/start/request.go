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
	SHA256   string // of the program, in lower-case hex
	Size     int64  // of the program, in bytes
	// Compressed gives the program in gzip: CompressedSize bytes with the SHA-256
	// CompressedSHA256, in lower-case hex. It is asked only when a host lacks the
	// program, and may be asked by several goroutines at once.
	Compressed       func() ([]byte, error)
	CompressedSize   int64
	CompressedSHA256 string
}

// header goes before the build to a script that waits for it.
func (b Build) header() string { return fmt.Sprintf("%d %s\n", b.CompressedSize, b.CompressedSHA256) }

// headerOf names a file on the host in place of what would follow.
func (b Build) headerOf(path string) string {
	return fmt.Sprintf("%d %s %s\n", b.CompressedSize, b.CompressedSHA256, path)
}

// A Request says how to start the host program.
type Request struct {
	Nonce string // letters and digits; must differ for every start
	// Greeting is how the module's first line begins. Whatever else the host
	// prints before it is skipped.
	Greeting []byte
	Facts    string // an argument of the module: collector names separated by commas, or "-"
	Builds   []Build
	Become   *Become // nil runs it as the login user
	// Timeout is how long the host may take until the greeting. The upload does
	// not count, but must move within it. 0 means 30s.
	Timeout time.Duration
	// Near has a build, in gzip, brought to a host that lacks it without sending it there from here, and gives the
	// path of the file on the host; "" if that cannot be done. What is in the file is believed if it has
	// the right hash. nil brings nothing. It is not asked for a host without gzip, nor if the program runs as
	// somebody who cannot read what the login user has.
	Near func(b Build) (path string)
	// Sent is told how many bytes of the program are on their way, of how many; it must be
	// quick. nil is not told.
	Sent func(n, size int64)
}

// sent tells of bytes on their way.
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

// What words look like that are told to a host, or told by it.

// pattern gives a regular expression that is compiled when it is first needed: most
// runs need none of them.
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
