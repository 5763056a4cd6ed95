package schema

import (
	"slices"
	"strconv"
	"strings"
)

// A location is a place in a document, either the schema or the value; nil means the whole document.
type location struct {
	in        *location
	step      string // the name of a member, the index of an element
	isElement bool
	depth     int
}

func (p *location) member(name string) *location { return &location{p, name, false, p.levels() + 1} }

func (p *location) element(i int) *location {
	return &location{p, strconv.Itoa(i), true, p.levels() + 1}
}

// levels counts the steps that lead there.
func (p *location) levels() int {
	if p == nil {
		return 0
	}
	return p.depth
}

// trail returns this location and the locations around it, innermost first.
func (p *location) trail() []*location {
	var trail []*location
	for ; p != nil; p = p.in {
		trail = append(trail, p)
	}
	slices.Reverse(trail)
	return trail
}

// pointer writes the place as a JSON pointer (RFC 6901).
func (p *location) pointer() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, on := range p.trail() {
		b.WriteByte('/')
		b.WriteString(escape.Replace(on.step))
	}
	return b.String()
}

// path writes the place in the way property errors do.
func (p *location) path() string {
	var b strings.Builder
	for _, on := range p.trail() {
		switch {
		case on.isElement:
			b.WriteString("[" + on.step + "]")
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(on.step)
	}
	return b.String()
}
