package jinja

import (
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A Text is a text with expressions. It is parsed once and safe for concurrent use.
type Text struct {
	parts []part
	pos   diag.Position
	reads render.Reads
	flow  render.Flow
}

// A part is literal text or an expression.
type part struct {
	literal string
	expr    *expression
	at      diag.Position
}

// An expression is a value and what filters make of it.
type expression struct {
	value   operand
	filters []filter
}

// An operand is a literal or a reference.
type operand struct {
	literal any
	name    string // of a reference, as it is written; "" for a literal
	root    string // what expressions of manifests call it
	keys    []operand
}

type filter struct {
	name string
	args []operand
}

// MaxText bounds a text that is parsed, in bytes.
const MaxText = 64 << 10

// Parse parses a text; pos is the position of its first character. The error says what is not
// understood, and shows only names that are in the text.
func Parse(s string, pos diag.Position) (*Text, error) {
	t := &Text{pos: pos}
	if len(s) > MaxText {
		return nil, diag.Faultf("a text of more than %d KiB", MaxText>>10)
	}
	for _, other := range []string{"{%", "{#"} {
		if strings.Contains(s, other) {
			return nil, diag.Faultf("%s", other)
		}
	}
	for at := 0; at < len(s); {
		begin := strings.Index(s[at:], "{{")
		if begin < 0 {
			t.parts = append(t.parts, part{literal: s[at:]})
			break
		}
		if begin += at; begin > at {
			t.parts = append(t.parts, part{literal: s[at:begin]})
		}
		p := &parser{text: s, at: begin + 2, owner: t}
		e, err := p.expression()
		if err == nil && !p.take("}}") {
			err = p.unexpected()
		}
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, part{expr: e, at: pos.Within(s, begin)})
		at = p.at
	}
	return t, nil
}

// Reads is what the text can read.
func (t *Text) Reads() *render.Reads { return &t.reads }

// FromHost reports whether the value can hold what a host sent.
func (t *Text) FromHost(taint render.Taint) bool { return t.flow.Hostile(taint) }

// Settle gives the value: of a text that is one expression with its type.
func (t *Text) Settle(r *render.Run) (any, error) {
	if err := r.CheckDeadline(); err != nil {
		return nil, diag.At(t.pos, err)
	}
	if len(t.parts) == 1 && t.parts[0].expr != nil {
		v, err := t.parts[0].value(r)
		if err == nil {
			v, err = render.PlainCopy(r, v)
		}
		if err != nil {
			return nil, diag.At(t.parts[0].at, err)
		}
		return v, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		s := p.literal
		if p.expr != nil {
			v, err := p.value(r)
			if err == nil {
				s, err = textOf(v)
			}
			if err != nil {
				return nil, diag.At(p.at, err)
			}
		}
		if err := r.CheckLength(b.Len() + len(s)); err != nil {
			return nil, diag.At(t.pos, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (p part) value(r *render.Run) (any, error) {
	v, err := p.expr.value.value(r)
	for _, f := range p.expr.filters {
		if err != nil {
			return nil, err
		}
		v, err = f.apply(r, v, p.expr.value)
	}
	if err == nil && v == render.Absent {
		return nil, p.expr.value.missing(r)
	}
	return v, err
}

// value gives what a reference leads to, [render.Absent] if there is nothing.
func (o operand) value(r *render.Run) (any, error) {
	if o.name == "" {
		return o.literal, nil
	}
	if err := r.Step(); err != nil {
		return nil, err
	}
	v, err := r.Env.Need(o.root)
	for i, key := range o.keys {
		if err != nil {
			return nil, err
		}
		k, failed := key.value(r)
		if failed == nil && k == render.Absent {
			failed = key.missing(r)
		}
		if failed != nil {
			return nil, failed
		}
		how := render.Fallback
		if i < len(o.keys)-1 {
			how |= render.Inner
		}
		v, err = r.Member(v, k, how, o.name)
	}
	if err == nil && len(o.keys) == 0 {
		return r.Root(o.root)
	}
	return v, err
}

func (o operand) missing(r *render.Run) error {
	f := diag.Faultf("there is no variable %q", o.name)
	if first, ok := o.firstKey(); ok && o.root == render.DataRoot {
		if _, there := r.Env.Data[first]; !there {
			if elsewhere := diag.AnsibleVariable(first); strings.HasPrefix(first, "ansible_") && elsewhere != "" {
				return f.WithHint("in a manifest, %s", elsewhere)
			}
			if near := diag.DidYouMean(render.SortedKeys(r.Env.Data), first); near != "" {
				return f.WithHint("%s; give a default with %s | default('…')", near, o.name)
			}
		}
	}
	return f.WithHint("give a default with %s | default('…')", o.name)
}

func (o operand) firstKey() (string, bool) {
	if len(o.keys) == 0 {
		return "", false
	}
	s, ok := o.keys[0].literal.(string)
	return s, ok
}

// note adds what a reference reads to what the text does.
func (t *Text) note(o operand) {
	var keys []string
	for i, key := range o.keys {
		s, ok := key.literal.(string)
		if i == 0 && key.name != "" && o.root == render.HostsRoot {
			s, ok = "*", true // any host
		} else if key.name != "" || !ok {
			break
		}
		keys = append(keys, s)
	}
	t.reads.Path(o.root, keys)
	t.flow.Path(o.root, keys)
}

// textOf is a value in a text, as Python writes it.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case []any, map[string]any:
		return "", diag.Faultf("%s in a text", render.KindName(v)).WithHint("use join(', ') or to_json")
	}
	return render.TextOf(v)
}
