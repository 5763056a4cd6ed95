package knownhosts

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/crypto/ssh"
)

// A parsed is a known_hosts file that was read. It indexes lines with plain names, since thousands of hosts look up
// theirs.
type parsed struct {
	info    fs.FileInfo // when it was read; nil if it did not exist
	count   int         // lines of it, also such as cannot be read
	entries []entry
	byName  map[string][]int // lines with exact names only
	others  []int            // lines with patterns or hashed names
	revoked []int
}

func newParsed(file string, info fs.FileInfo, text []byte) *parsed {
	p := &parsed{byName: map[string][]int{}}
	p.add(info, parse(file, text), bytes.Count(text, []byte("\n")))
	return p
}

// isAt reports whether nothing has happened to the file since.
func (p *parsed) isAt(info fs.FileInfo) bool {
	return p.info != nil && os.SameFile(p.info, info) && p.info.Size() == info.Size() && p.info.ModTime().Equal(info.ModTime())
}

// add adds entries from count further lines.
func (p *parsed) add(info fs.FileInfo, entries []entry, count int) {
	p.info = info
	for _, e := range entries {
		e.line += p.count
		i := len(p.entries)
		p.entries = append(p.entries, e)
		plain := !slices.ContainsFunc(e.patterns, func(p pattern) bool { return p.exact == "" || p.negated })
		switch {
		case e.marker == revoked:
			p.revoked = append(p.revoked, i)
		case !plain:
			p.others = append(p.others, i)
		default:
			for _, n := range e.patterns {
				if at := p.byName[n.exact]; len(at) == 0 || at[len(at)-1] != i {
					p.byName[n.exact] = append(at, i)
				}
			}
		}
	}
	p.count += count
}

// linesFor returns the lines for a name, in their order.
func (p *parsed) linesFor(name string) []entry {
	at := slices.Clone(p.byName[name])
	for _, i := range p.others {
		if p.entries[i].matches(name) {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	entries := make([]entry, len(at))
	for n, i := range at {
		entries[n] = p.entries[i]
	}
	return entries
}

// krlMagic begins a key revocation list (OpenSSH, PROTOCOL.krl).
const krlMagic = "SSHKRL\n\x00"

// parseRevoked reads public keys, one a line. An unreadable line is an error, since it may be a key that must be
// refused.
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
			return nil, refuse("write a public key as in a .pub file", "line %d is not a public key", number)
		}
		entries = append(entries, entry{file: path, line: number, marker: revoked, key: PlainKey(key)})
	}
	return entries, nil
}
