package transport

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// The known_hosts format is that of sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT". The
// lines are read here and not by x/crypto/ssh/knownhosts because that refuses a
// whole file for one line it cannot read, takes the key of a @cert-authority
// for the host's own, and does not say which key types a host has.

// A knownLine is one usable line of a known_hosts file.
type knownLine struct {
	file     string
	number   int
	marker   string // "", cert-authority or revoked
	patterns []hostPattern
	key      ssh.PublicKey
}

const (
	certAuthority = "cert-authority"
	revoked       = "revoked"
)

func (l *knownLine) where() string { return fmt.Sprintf("%s:%d", l.file, l.number) }

// parseKnownHosts leaves out what it cannot read, as OpenSSH does.
func parseKnownHosts(file string, text []byte) []knownLine {
	var lines []knownLine
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(raw)
		if err != nil || marker != "" && marker != certAuthority && marker != revoked {
			continue
		}
		line := knownLine{file: file, number: number, marker: marker, key: key}
		for _, h := range hosts {
			line.patterns = append(line.patterns, newHostPattern(h))
		}
		lines = append(lines, line)
	}
	return lines
}

// matches reports whether the line is about name, which is normal.
func (l *knownLine) matches(name string) bool {
	found := false
	for _, p := range l.patterns {
		if !p.matches(name) {
			continue
		}
		if p.negated {
			return false
		}
		found = true
	}
	return found
}

// A hostPattern is one of the names of a line. It is compared as OpenSSH does:
// with the whole name, [host]:port if the port is not 22.
type hostPattern struct {
	negated    bool
	exact      string // a normal name, or
	glob       string // a pattern for path.Match, or
	salt, hash []byte // HMAC-SHA1(salt, name)
}

func newHostPattern(text string) hostPattern {
	if strings.HasPrefix(text, "|") {
		return hashedPattern(text)
	}
	var p hostPattern
	text, p.negated = strings.CutPrefix(strings.ToLower(text), "!")
	if strings.ContainsAny(text, "*?") {
		// Brackets and backslashes mean something to path.Match only.
		p.glob = strings.NewReplacer(`[`, `\[`, `\`, `\\`).Replace(text)
		return p
	}
	p.exact = knownhosts.Normalize(text)
	return p
}

// hashedPattern reads |1|salt|hash. What it cannot read matches nothing.
func hashedPattern(text string) hostPattern {
	parts := strings.Split(text, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return hostPattern{}
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	hash, err2 := base64.StdEncoding.DecodeString(parts[3])
	if err != nil || err2 != nil {
		return hostPattern{}
	}
	return hostPattern{salt: salt, hash: hash}
}

func (p *hostPattern) matches(name string) bool {
	switch {
	case p.hash != nil:
		mac := hmac.New(sha1.New, p.salt)
		mac.Write([]byte(name))
		return hmac.Equal(mac.Sum(nil), p.hash)
	case p.glob != "":
		ok, err := path.Match(p.glob, name)
		return err == nil && ok
	}
	return p.exact != "" && p.exact == name
}

// A keyStore holds the known_hosts files of a run, each parsed once.
type keyStore struct {
	mu    sync.Mutex
	files map[string][]knownLine
	// adding is held while a key is added, so that hosts of this process do not
	// wait for each other's file lock.
	adding sync.Mutex
}

// open gives a view of several files as one. Files that do not exist are empty.
func (s *keyStore) open(files []string) (*knownHosts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		if _, ok := s.files[f]; ok {
			continue
		}
		if err := s.read(f); err != nil {
			return nil, err
		}
	}
	return &knownHosts{store: s, files: files}, nil
}

// read parses a file again. The caller holds mu.
func (s *keyStore) read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &FileError{Setting: settingKnownHosts, Path: file, Err: withoutPath(err)}
	}
	if s.files == nil {
		s.files = make(map[string][]knownLine)
	}
	s.files[file] = parseKnownHosts(file, text)
	return nil
}

func (s *keyStore) reread(file string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(file)
}

// knownHosts is what a list of files says.
type knownHosts struct {
	store *keyStore
	files []string
}

func (t Target) knownHosts(home string) []string {
	if len(t.KnownHosts) == 0 {
		system := "/etc/ssh/ssh_known_hosts"
		if home == "" {
			return []string{system}
		}
		return []string{filepath.Join(home, ".ssh/known_hosts"), system}
	}
	files := make([]string, len(t.KnownHosts))
	for i, f := range t.KnownHosts {
		files[i] = expand(f, home)
	}
	return files
}

// about gives the lines for an address (host:port), and all revoked keys:
// whatever host a revoked key was written down for, nobody should use it.
func (k *knownHosts) about(addr string) (keys, authorities, revokedKeys []knownLine) {
	name := strings.ToLower(knownhosts.Normalize(addr))
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	for _, f := range k.files {
		for _, l := range k.store.files[f] {
			switch {
			case l.marker == revoked:
				revokedKeys = append(revokedKeys, l)
			case !l.matches(name):
			case l.marker == certAuthority:
				authorities = append(authorities, l)
			default:
				keys = append(keys, l)
			}
		}
	}
	return keys, authorities, revokedKeys
}

// hostKeyTypes lists key types as OpenSSH prefers them; the others that
// x/crypto supports follow.
var hostKeyTypes = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA,
}

// algorithms lists host key algorithms, those first for which a key of the host
// is known: x/crypto would otherwise ask for a key of another type and then
// refuse it (golang/go#29286). Certificates are asked for only where an
// authority is known for the host. SHA-1 signatures are never accepted.
func (k *knownHosts) algorithms(addr string) []string {
	keys, authorities, _ := k.about(addr)
	var plain, certs []string
	for _, l := range keys {
		plain = append(plain, signatures(l.key.Type())...)
	}
	for _, t := range hostKeyTypes {
		plain = append(plain, signatures(t)...)
	}
	supported := ssh.SupportedAlgorithms().HostKeys
	for _, a := range supported {
		if !isCertificate(a) {
			plain = append(plain, a)
		} else if len(authorities) > 0 {
			certs = append(certs, a)
		}
	}
	return slices.DeleteFunc(unique(append(certs, plain...)), func(a string) bool { return !slices.Contains(supported, a) })
}

// signatures are the algorithms for a key type, best first.
func signatures(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

func isCertificate(algorithm string) bool { return strings.Contains(algorithm, "-cert-v01@") }

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
