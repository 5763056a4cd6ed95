package transport

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// IsHangUp reports whether the connection ended, rather than was refused.
func IsHangUp(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	return isNet || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE)
}

// HangUpCause says in words what an end of file, or a reset, means. x/crypto closes
// the connection itself when it cannot write, and may report that.
func HangUpCause(err error) error {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, end) {
			return errors.New("the host closed the connection")
		}
	}
	return WithoutHandshake(err)
}

// WithoutHandshake drops what x/crypto puts before every error of a login.
func WithoutHandshake(err error) error {
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "ssh: handshake failed: ") {
		return cause
	}
	return err
}
