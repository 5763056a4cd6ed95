package session

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A large content has a named file while it is received, in a directory that only the user of this program can change,
// so that a later session can continue after the received part. The file has the name of the content; the hash of the
// whole shows in the end whether the part was valid.
const (
	partialPrefix = ".partial-"
	partialFrom   = 8 << 20            // the size, in bytes, from which on contents are kept
	partialAge    = 7 * 24 * time.Hour // since something was last written to it
	maxPartials   = 4                  // kept for later sessions, the newest
)

// A partial is the received part of a content.
type partial struct {
	file     *os.File
	received int64
	sum      hash.Hash // of that
}

// openPartial opens what there is of a content, or begins it. It is nil where another session works on it.
func openPartial(dir string, c modules.Content) *partial {
	const flags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(filepath.Join(dir, partialPrefix+c.SHA256()), flags, 0o600)
	if err != nil {
		return nil // for example a full disk, which the next file reports
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		file.Close()
		return nil
	}
	p := &partial{file: file, sum: sha256.New()}
	if info.Size() < c.Size() {
		p.received, err = io.Copy(p.sum, file)
	}
	if err != nil || p.received == 0 { // nothing, or nothing that a content of this size could begin with
		p.begin()
	}
	return p
}

// begin forgets what there is.
func (p *partial) begin() {
	_ = p.file.Truncate(0) // remaining bytes are overwritten, and the hash detects them
	p.received, p.sum = 0, sha256.New()
}

// sweepPartials removes files that no later session will continue.
func sweepPartials(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var kept []os.FileInfo
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), partialPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil {
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range kept {
		if i >= maxPartials || now.Sub(info.ModTime()) > partialAge {
			_ = os.Remove(filepath.Join(dir, info.Name())) // the next session tries again
		}
	}
}

// errStale reports that the part of an earlier session is not the begin of the content.
var errStale = errors.New("the stored part of the content is damaged")
