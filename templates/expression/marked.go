package expression

import (
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// ParseMarked parses a string of a document as [Parse] does, with the values in the
// place of their marks. A string that is exactly one mark has the type of the
// value, unless it is quoted.
func ParseMarked(m *render.Marked, s string, pos diag.Position, quoted bool, in render.Languages) (*Text, error) {
	t := &Text{at: pos}
	for _, sp := range scan(s) {
		switch {
		case !sp.expr:
			t.parts = append(t.parts, markedParts(m, sp.text)...)
		case m.Has(sp.text):
			return nil, diag.At(pos, diag.Faultf("a printed value cannot be part of the expression %q", m.Show(sp.text)).
				WithHint("let the expression read Data or Facts itself"))
		default:
			e, err := compile(sp.text, origin{pos: pos, whole: s, offset: sp.offset}, in)
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, part{expr: e})
			t.reads.Add(&e.reads)
		}
	}
	if quoted && len(t.parts) == 1 && t.parts[0].constant != nil {
		t.parts = append(t.parts, part{}) // more than a mark: a text
	}
	return t, nil
}

// markedParts parts literal text at its marks.
func markedParts(m *render.Marked, s string) []part {
	var parts []part
	for text, value := range m.Split(s) {
		if value != nil || text != "" {
			parts = append(parts, part{literal: text, constant: value})
		}
	}
	return parts
}
