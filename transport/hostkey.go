package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// verify holds the key that the host has proven to own against known_hosts.
func (l *login) verify(ctx context.Context, key ssh.PublicKey) *HostError {
	t := l.target
	err := l.known.check(t.addr(), key)
	if errors.Is(err, ErrHostKeyUnknown) && t.HostKeys == AcceptNew && !isCertificate(key.Type()) {
		err = l.known.accept(ctx, t.addr(), key)
	}
	if err == nil {
		return nil
	}
	return t.fail(opHostKey, err, l.hostKeyHint(err, key))
}

func (l *login) hostKeyHint(err error, key ssh.PublicKey) string {
	changed, ok := errors.AsType[*changedKeyError](err)
	switch {
	case ok:
		return "if the host was set up anew, remove " + strings.Join(changed.lines, " and ") + " and connect again; if not, someone else answers in its place"
	case !errors.Is(err, ErrHostKeyUnknown):
		return ""
	case l.dialer.TrustHint != nil:
		return l.dialer.TrustHint(l.target, plainKey(key))
	}
	line := knownhosts.Line([]string{l.target.addr()}, plainKey(key))
	return fmt.Sprintf("compare the fingerprint, then trust it: echo '%s' >> %s", line, shellWord(l.known.files[0]))
}

// shellWord quotes s for a shell if it needs that.
func shellWord(s string) string {
	if isPlainWord(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// A changedKeyError names the lines that hold other keys of the host.
type changedKeyError struct {
	key   ssh.PublicKey
	lines []string
}

func (e *changedKeyError) Error() string {
	return fmt.Sprintf("%v: %s is not the key in %s", ErrHostKeyChanged, fingerprint(e.key), strings.Join(e.lines, ", "))
}

func (e *changedKeyError) Unwrap() error { return ErrHostKeyChanged }

func fingerprint(key ssh.PublicKey) string {
	key = plainKey(key)
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}

// plainKey is the key that a certificate is about.
func plainKey(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

func sameKey(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

// check returns nil for a known key. A certificate is good if a known authority
// has signed it for this host, or if its key is known by itself.
func (k *knownHosts) check(addr string, key ssh.PublicKey) error {
	keys, authorities, revokedKeys := k.about(addr)
	cert, isCert := key.(*ssh.Certificate)
	for _, l := range revokedKeys {
		if sameKey(l.key, plainKey(key)) || isCert && sameKey(l.key, cert.SignatureKey) {
			return fmt.Errorf("%w: %s in %s", ErrHostKeyRevoked, fingerprint(l.key), l.where())
		}
	}
	var others []string
	for _, l := range keys {
		if sameKey(l.key, plainKey(key)) {
			return nil
		}
		others = append(others, l.where())
	}
	if isCert {
		err := checkCertificate(addr, cert, authorities)
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: %s: %w", ErrHostKeyUnknown, fingerprint(key), err)
	}
	if len(others) > 0 {
		return &changedKeyError{key: key, lines: others}
	}
	return fmt.Errorf("%w: %s", ErrHostKeyUnknown, fingerprint(key))
}

func checkCertificate(addr string, cert *ssh.Certificate, authorities []knownLine) error {
	checker := ssh.CertChecker{
		IsHostAuthority: func(signer ssh.PublicKey, _ string) bool {
			for _, l := range authorities {
				if sameKey(l.key, signer) {
					return true
				}
			}
			return false
		},
	}
	return checker.CheckHostKey(addr, &net.TCPAddr{}, cert)
}

// accept adds an unknown key to the first file. The file is locked and read
// again first: if another process has added a different key meanwhile, that one
// counts.
func (k *knownHosts) accept(ctx context.Context, addr string, key ssh.PublicKey) error {
	k.store.adding.Lock()
	defer k.store.adding.Unlock()
	file := k.files[0]
	f, err := openLocked(ctx, file)
	if err != nil {
		return fmt.Errorf("adding the host key to %s: %w", file, err)
	}
	defer f.Close() // also unlocks
	if err := k.store.reread(file); err != nil {
		return err
	}
	if err := k.check(addr, key); !errors.Is(err, ErrHostKeyUnknown) {
		return err
	}
	if err := appendLine(f, knownhosts.Line([]string{addr}, key)); err != nil {
		return fmt.Errorf("adding the host key to %s: %w", file, err)
	}
	return k.store.reread(file)
}

// lockPoll is how often a lock that another process holds is tried again.
const lockPoll = 20 * time.Millisecond

// openLocked opens a file for appending and waits for its lock.
func openLocked(ctx context.Context, file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("locking: %w", err)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("locking: %w", context.Cause(ctx))
		}
	}
}

// appendLine adds a line in one write, which a reader sees whole or not at all.
func appendLine(f *os.File, line string) error {
	line += "\n"
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if last := make([]byte, 1); end > 0 {
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = f.WriteString(line)
	return err
}
