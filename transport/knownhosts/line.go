package knownhosts

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// An entry is one usable line of a known_hosts file.
type entry struct {
	file     string
	line     int
	marker   string // "", cert-authority or revoked
	patterns []pattern
	key      ssh.PublicKey
}

const (
	certAuthority = "cert-authority"
	revoked       = "revoked"
)

func (e *entry) where() string { return fmt.Sprintf("%s:%d", e.file, e.line) }

func places(entries []entry) []string {
	var where []string
	for _, e := range entries {
		where = append(where, e.where())
	}
	return where
}

// parse leaves out what it cannot read, as OpenSSH does.
func parse(file string, text []byte) []entry {
	var entries []entry
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		marker, names, key, _, _, err := ssh.ParseKnownHosts(raw)
		if err != nil || marker != "" && marker != certAuthority && marker != revoked {
			continue
		}
		e := entry{file: file, line: number, marker: marker, key: key}
		for _, n := range names {
			e.patterns = append(e.patterns, newPattern(n))
		}
		entries = append(entries, e)
	}
	return entries
}

// unreadable is why a file cannot be used, although lines that cannot be read are left
// out: one with a mark may have been there to revoke a key.
func unreadable(text []byte) error {
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		words := bytes.Fields(raw)
		if len(words) == 0 || words[0][0] != '@' || string(words[0]) == "@"+certAuthority {
			continue
		}
		marker, _, _, _, _, err := ssh.ParseKnownHosts(raw)
		// A key of a kind that is not known here is none that a host could show us.
		if err != nil && strings.Contains(err.Error(), "unknown key algorithm") {
			continue
		}
		if err != nil || marker != revoked {
			return fmt.Errorf("line %d begins with %.20q and cannot be read, so that a key may be revoked without our knowing", number, words[0])
		}
	}
	return nil
}

// matches reports whether the line is about name, which is normal.
func (e *entry) matches(name string) bool {
	found := false
	for _, p := range e.patterns {
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
