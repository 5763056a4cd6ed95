package knownhosts

import (
	"bytes"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// krlMagic begins a key revocation list (OpenSSH, PROTOCOL.krl).
const krlMagic = "SSHKRL\n\x00"

// parseRevoked reads public keys, one a line. A line that cannot be read may be a
// key that somebody wants to be safe from, so nothing is passed over.
func parseRevoked(path string, text []byte) ([]entry, error) {
	refuse := func(hint, format string, args ...any) error {
		return &FileError{Path: path, Revoked: true, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	if bytes.HasPrefix(text, []byte(krlMagic)) {
		return nil, refuse("list the public keys, one a line, as ssh_config(5) also allows", "it is a binary key revocation list (KRL), which is not read")
	}
	var entries []entry
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] == '#' {
			continue
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey(raw)
		if err != nil || len(options) > 0 {
			return nil, refuse("write a public key as in a .pub file", "line %d is no public key", number)
		}
		entries = append(entries, entry{file: path, line: number, marker: revoked, key: Plain(key)})
	}
	return entries, nil
}
