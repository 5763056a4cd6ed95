package knownhosts

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"
)

// An entry is one usable line of a known_hosts file.
type entry struct {
	file     string
	line     int
	source   string // FILE:LINE, if it was taken from another file
	marker   string // "", cert-authority or revoked
	patterns []pattern
	key      ssh.PublicKey
}

const (
	certAuthority = "cert-authority"
	revoked       = "revoked"
)

func (e *entry) where() string {
	if e.source != "" {
		return e.source
	}
	return fmt.Sprintf("%s:%d", e.file, e.line)
}

func places(entries []entry) []string {
	var where []string
	for _, e := range entries {
		where = append(where, e.where())
	}
	return where
}

// parse skips lines that it cannot read, as OpenSSH does.
func parse(file string, text []byte) []entry {
	var entries []entry
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		marker, names, key, comment, _, err := ssh.ParseKnownHosts(raw)
		if err != nil || marker != "" && marker != certAuthority && marker != revoked {
			continue
		}
		e := entry{file: file, line: number, marker: marker, key: key}
		if source, is := strings.CutPrefix(comment, excerptOf); is {
			e.source = source
		}
		for _, n := range names {
			e.patterns = append(e.patterns, newPattern(n))
		}
		entries = append(entries, e)
	}
	return entries
}

// unreadable returns why a file cannot be used although unreadable lines are skipped: such a line with a mark may
// revoke a key.
func unreadable(text []byte) error {
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		words := bytes.Fields(raw)
		if len(words) == 0 || words[0][0] != '@' || string(words[0]) == "@"+certAuthority {
			continue
		}
		marker, _, _, _, _, err := ssh.ParseKnownHosts(raw)
		// A host cannot show a key of a type that is unknown here.
		if err != nil && strings.Contains(err.Error(), "unknown key algorithm") {
			continue
		}
		if err != nil || marker != revoked {
			return fmt.Errorf("line %d begins with %.20q and cannot be read, so ccm-push cannot know whether the line revokes a key", number, words[0])
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

// A pattern is one of the names of a line. It is compared as OpenSSH does:
// with the whole name, [host]:port if the port is not 22.
type pattern struct {
	negated    bool
	exact      string // a normal name, or
	glob       string // a pattern for path.Match, or
	salt, hash []byte // HMAC-SHA1(salt, name)
}

func newPattern(text string) pattern {
	if strings.HasPrefix(text, "|") {
		return hashedPattern(text)
	}
	var p pattern
	text, p.negated = strings.CutPrefix(strings.ToLower(text), "!")
	if strings.ContainsAny(text, "*?") {
		// Brackets and backslashes mean something to path.Match only.
		p.glob = strings.NewReplacer(`[`, `\[`, `\`, `\\`).Replace(text)
		return p
	}
	p.exact = NormalName(text)
	return p
}

// hashedPattern reads |1|salt|hash. Unreadable text matches nothing.
func hashedPattern(text string) pattern {
	parts := strings.Split(text, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return pattern{}
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	hash, err2 := base64.StdEncoding.DecodeString(parts[3])
	if err != nil || err2 != nil {
		return pattern{}
	}
	return pattern{salt: salt, hash: hash}
}

func (p *pattern) matches(name string) bool {
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
