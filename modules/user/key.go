package user

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Bounds of authorized_keys, in bytes and lines: sshd reads no longer lines.
const (
	maxKeyLine  = 8 << 10
	maxKeyLines = 1000
)

// A key is a line of authorized_keys, AUTHORIZED_KEYS FILE FORMAT of sshd(8).
type key struct {
	line string // as it stands there, without blanks around it
	blob string // the key itself, as bytes
}

// fingerprint names a key as ssh-keygen -l does; it is that of one that cannot be
// read if there is none.
func (k key) fingerprint() string {
	if k.blob == "" {
		return "a line without a key"
	}
	sum := sha256.Sum256([]byte(k.blob))
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// parseKeys reads what shall stand in authorized_keys.
func parseKeys(lines []string) ([]key, error) {
	if len(lines) > maxKeyLines {
		return nil, modules.Errorf("ssh_keys", "more than %d keys", maxKeyLines)
	}
	var keys []key
	var errs []error
	first := map[string]int{}
	for i, line := range lines {
		k, err := parseKey(line)
		other, twice := first[k.blob]
		switch {
		case err != nil:
			errs = append(errs, keyError(i, line, err))
		case twice:
			errs = append(errs, modules.Errorf(element("ssh_keys", i), "the same key as %s", element("ssh_keys", other)))
		default:
			first[k.blob] = i
			keys = append(keys, k)
		}
	}
	return keys, errors.Join(errs...)
}

// keyError does not quote the line: somebody may have pasted a private key.
func keyError(i int, line string, err error) error {
	hint := "write the line of a .pub file, such as: ssh-ed25519 AAAA… name"
	if strings.Contains(line, "PRIVATE KEY") {
		hint = "this is a private key, which stays where it is: " + hint
	}
	return &modules.PropertyError{Path: element("ssh_keys", i), Msg: err.Error(), Hint: hint}
}

// parseKey reads one line: options, if any, the type of the key, the key in
// base64, and a comment.
func parseKey(line string) (key, error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return key{}, errors.New("the key is empty")
	case len(line) > maxKeyLine:
		return key{}, fmt.Errorf("the key is longer than %d bytes", maxKeyLine)
	case strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return key{}, errors.New("the key has a line break or another control character")
	case line[0] == '#':
		return key{}, errors.New("this is a comment, not a key")
	}
	blob, ok := cutKey(line)
	if !ok {
		rest, closed := skipOptions(line)
		if !closed {
			return key{}, errors.New("a quote in the options of the key is not closed")
		}
		if blob, ok = cutKey(rest); !ok {
			return key{}, errors.New("there is no key of a known type in this")
		}
	}
	return key{line, blob}, nil
}

// cutKey reads the type and the key at the beginning of a text. The key names its
// type once more (RFC 4253, 6.6), so that no text is one by accident.
func cutKey(text string) (blob string, ok bool) {
	words := strings.Fields(text)
	if len(words) < 2 || !keyType(words[0]) {
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

// keyType reports whether a word is a type of public key that OpenSSH has, or
// had: ssh-ed25519, ecdsa-sha2-nistp256, sk-…@openssh.com, …-cert-v01@openssh.com.
func keyType(word string) bool {
	for _, prefix := range []string{"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return false
}

// skipOptions gives what follows the options: they end at the first blank that is
// not between quotes, in which \" is a quote.
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

// fileKeys reads the lines of a file that are not comments. A line without a key
// that can be read has no blob.
func fileKeys(text string) []key {
	var keys []key
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			k = key{line: line}
		}
		keys = append(keys, k)
	}
	return keys
}
