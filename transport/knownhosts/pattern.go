package knownhosts

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"path"
	"strings"
)

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

// hashedPattern reads |1|salt|hash. What it cannot read matches nothing.
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
