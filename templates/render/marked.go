package render

import (
	"iter"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Marked is a document that a Jet template has written, such as YAML, with a mark instead of each value that it
// printed. Values are inserted once the document is parsed, so that none is read as syntax of the document or as an
// expression.
type Marked struct {
	Text   string
	values []Constant
}

// A Constant is a value that replaces an expression.
type Constant struct {
	Value any
	Flow  Flow
}

// MarkEdge surrounds the number of a mark. It has no meaning in YAML, and no template may contain it.
const MarkEdge = "·value·"

// Mark keeps a value and returns its mark.
func (m *Marked) Mark(r *Run, v any, from Flow) (string, error) {
	value, err := PlainCopy(r, v)
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", diag.Faultf("nil in a document").WithHint("isset(…) tests for it, or give a default")
	}
	m.values = append(m.values, Constant{value, from})
	return MarkEdge + strconv.Itoa(len(m.values)-1) + MarkEdge, nil
}

// Has reports whether s, a part of the document, holds a mark.
func (m *Marked) Has(s string) bool { return m != nil && strings.Contains(s, MarkEdge) }

// Lines returns the lines of the text, from 1, that contain marks.
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

// Show is s as its author wrote it: marks become dots between delimiters.
func (m *Marked) Show(s string) string {
	var b strings.Builder
	for i, piece := range strings.Split(s, MarkEdge) {
		if i%2 == 1 {
			piece = JetLeft + "…" + JetRight
		}
		b.WriteString(piece)
	}
	return b.String()
}

// Split yields the pieces of s, a part of the document: literal text, and values.
func (m *Marked) Split(s string) iter.Seq2[string, *Constant] {
	return func(yield func(string, *Constant) bool) {
		for i, piece := range strings.Split(s, MarkEdge) {
			if i%2 == 0 {
				if !yield(piece, nil) {
					return
				}
			} else if n, err := strconv.Atoi(piece); err == nil && n < len(m.values) {
				if !yield("", &m.values[n]) {
					return
				}
			}
		}
	}
}
