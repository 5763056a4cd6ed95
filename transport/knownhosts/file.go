package knownhosts

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
)

// A parsed is what a known_hosts file has. Thousands of hosts ask it, so the lines
// that name hosts plainly are found by name.
type parsed struct {
	info    fs.FileInfo // when it was read; nil if it did not exist
	count   int         // lines of it, also such as cannot be read
	entries []entry
	byName  map[string][]int // of lines with exact names only
	others  []int            // of lines with patterns or hashed names
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

// add takes those of count further lines that could be read.
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

// about gives the lines for a name, in their order.
func (p *parsed) about(name string) []entry {
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
