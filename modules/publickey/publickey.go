// Package publickey reads public keys of OpenSSH in the form of authorized_keys, known_hosts and .pub files.
package publickey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// MaxLine bounds a line of authorized_keys, in bytes: sshd reads no longer ones.
const MaxLine = 8 << 10

// A Key is a line of authorized_keys, AUTHORIZED_KEYS FILE FORMAT of sshd(8).
type Key struct {
	Line string // line of the file, without surrounding blanks
	Blob string // the key itself, as bytes
}

// Fingerprint names a key as ssh-keygen -l does; without a blob it is the text for a key that cannot be read.
func (k Key) Fingerprint() string {
	if k.Blob == "" {
		return "a line without a key"
	}
	sum := sha256.Sum256([]byte(k.Blob))
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Options is the text before the type of the key.
func (k Key) Options() string {
	if _, ok := cutKey(k.Line); ok {
		return ""
	}
	rest, _ := skipOptions(k.Line)
	return k.Line[:len(k.Line)-len(rest)]
}

// Parse reads one line: options, if any, the type of the key, the key in
// base64, and a comment.
func Parse(line string) (Key, error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return Key{}, errors.New("the key is empty")
	case len(line) > MaxLine:
		return Key{}, fmt.Errorf("the key is longer than %d bytes", MaxLine)
	case strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return Key{}, errors.New("the key has a line break or another control character")
	case line[0] == '#':
		return Key{}, errors.New("this is a comment, not a key")
	}
	blob, ok := cutKey(line)
	if !ok {
		rest, closed := skipOptions(line)
		if !closed {
			return Key{}, errors.New("a quote in the options of the key is not closed")
		}
		if blob, ok = cutKey(rest); !ok {
			return Key{}, errors.New("the line has no public key of a known type")
		}
	}
	return Key{line, blob}, nil
}

// cutKey reads the type and the key at the beginning of a text. The key contains its type once more (RFC 4253, 6.6), so
// that other text cannot match by accident.
func cutKey(text string) (blob string, ok bool) {
	words := strings.Fields(text)
	if len(words) < 2 || !IsType(words[0]) {
		return "", false
	}
	b, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil || len(b) < 4 {
		return "", false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) >= uint64(len(b)-4) || string(b[4:4+n]) != words[0] {
		return "", false
	}
	return string(b), true
}

// IsType reports whether a word is a type of public key that OpenSSH has, or
// had: ssh-ed25519, ecdsa-sha2-nistp256, sk-…@openssh.com, …-cert-v01@openssh.com.
func IsType(word string) bool {
	for _, prefix := range []string{"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return false
}

// skipOptions returns the text after the options: they end at the first blank that is not between quotes, in which \"
// is a quote.
func skipOptions(line string) (rest string, closed bool) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			return line[i:], true
		}
	}
	return "", !quoted
}

// InFile reads the lines of a file that are not comments. A line without a key
// that can be read has no blob.
func InFile(text string) []Key {
	var keys []Key
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		k, err := Parse(line)
		if err != nil {
			k = Key{Line: line}
		}
		keys = append(keys, k)
	}
	return keys
}
