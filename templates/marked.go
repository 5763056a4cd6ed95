package templates

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Marked is a document that a Jet template has written, such as YAML, with a
// mark in the place of each value that it printed. So a value is never read as
// part of the document's syntax, nor as an expression: it is put in where the
// document has been parsed.
type Marked struct {
	Text   string
	values []constant
}

// A constant is a value that stands in the place of an expression.
type constant struct {
	value any
	flow  flow
}

// markEdge stands around the number of a mark. It is no syntax of YAML, and no
// template may hold it.
const markEdge = "·value·"

// RenderMarked renders a Jet template for one host as a document with marks.
// What it prints may also be a list or a map. The error is an [Error].
func (t *Template) RenderMarked(ctx context.Context, env *Env) (*Marked, error) {
	r, err := newRun(ctx, env)
	if err != nil {
		return nil, at(t.at, err)
	}
	if j, isJet := t.engine.(*jetTemplate); !isJet || j.holdsMark {
		return nil, at(t.at, faultf("only a Jet template without %q in it can write a document", markEdge))
	}
	r.marked = &Marked{}
	if r.marked.Text, err = t.render(r); err != nil {
		return nil, err
	}
	return r.marked, nil
}

// mark keeps a value and gives what stands for it.
func (m *Marked) mark(r *run, v any, from flow) (string, error) {
	value, err := plain(r, v)
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", faultf("nil in a document").withHint("ask with isset(…), or give another value")
	}
	m.values = append(m.values, constant{value, from})
	return markEdge + strconv.Itoa(len(m.values)-1) + markEdge, nil
}

// Has reports whether s, a part of the document, holds a mark.
func (m *Marked) Has(s string) bool { return m != nil && strings.Contains(s, markEdge) }

// Lines are the lines of the text, from 1, in which marks stand.
func (m *Marked) Lines() map[int]bool {
	lines := map[int]bool{}
	n := 1
	for line := range strings.Lines(m.Text) {
		if m.Has(line) {
			lines[n] = true
		}
		n++
	}
	return lines
}

// Show is s as people wrote it: marks become dots between delimiters.
func (m *Marked) Show(s string) string {
	var b strings.Builder
	for i, piece := range strings.Split(s, markEdge) {
		if i%2 == 1 {
			piece = jetLeft + "…" + jetRight
		}
		b.WriteString(piece)
	}
	return b.String()
}

// Parse parses a string of the document as [Parse] does, with the values in the
// place of their marks. A string that is exactly one mark has the type of the
// value, unless it is quoted.
func (m *Marked) Parse(s string, pos Position, quoted bool) (*Text, error) {
	t := &Text{at: pos}
	for _, sp := range scan(s) {
		switch {
		case !sp.expr:
			t.parts = append(t.parts, m.split(sp.text)...)
		case m.Has(sp.text):
			return nil, at(pos, faultf("a printed value cannot be part of the expression %q", m.Show(sp.text)).
				withHint("let the expression read Data or Facts itself"))
		default:
			e, err := compile(sp.text, origin{pos: pos, whole: s, offset: sp.offset})
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, part{expr: e})
			t.mentions.add(&e.mentions)
		}
	}
	if quoted && len(t.parts) == 1 && t.parts[0].constant != nil {
		t.parts = append(t.parts, part{}) // more than a mark: a text
	}
	return t, nil
}

// split parts literal text at its marks.
func (m *Marked) split(s string) []part {
	var parts []part
	for i, piece := range strings.Split(s, markEdge) {
		if i%2 == 0 {
			parts = append(parts, part{literal: piece})
		} else if n, err := strconv.Atoi(piece); err == nil && n < len(m.values) {
			parts = append(parts, part{constant: &m.values[n]})
		}
	}
	return slices.DeleteFunc(parts, func(p part) bool { return p.constant == nil && p.literal == "" })
}
