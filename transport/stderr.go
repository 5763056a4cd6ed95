package transport

import (
	"errors"
	"io"
	"sync"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// MaxStderr is how much of standard error is kept, in bytes.
const MaxStderr = 64 << 10

// A Stderr keeps the two ends of what a process writes to standard error. Its methods
// may be called from many goroutines.
type Stderr struct {
	mu   sync.Mutex
	kept excerpt.Writer
}

// NewStderr gives an empty one.
func NewStderr() *Stderr { return &Stderr{kept: excerpt.Writer{Most: MaxStderr}} }

// Write implements [io.Writer]. It never fails.
func (s *Stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Write(b)
}

// ReadFrom implements [io.ReaderFrom], for io.Copy: a host that is silent on standard
// error, as most are, shall not cost a large buffer.
func (s *Stderr) ReadFrom(r io.Reader) (n int64, err error) {
	buf := make([]byte, 1<<10)
	for {
		k, err := r.Read(buf)
		s.Write(buf[:k])
		n += int64(k)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// String is what is kept.
func (s *Stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String()
}
