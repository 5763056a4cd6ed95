package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A parser reads one expression of a text.
type parser struct {
	text  string
	at    int
	owner *Text // that notes what is read
}

var (
	nameStart   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*`) })
	numberStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?\d+(\.\d+)?`) })
)

func (p *parser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take goes on behind a token, if that is next.
func (p *parser) take(token string) bool {
	p.blanks()
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *parser) match(pattern *regexp.Regexp) string {
	found := pattern.FindString(p.text[p.at:])
	p.at += len(found)
	return found
}

func (p *parser) unexpected() error {
	p.blanks()
	if p.at >= len(p.text) {
		return diag.Faultf("an expression that does not end")
	}
	if name := nameStart().FindString(p.text[p.at:]); name != "" {
		return diag.Faultf("%q", name)
	}
	return diag.Faultf("%q", string([]rune(p.text[p.at:])[:1]))
}

func (p *parser) expression() (*expression, error) {
	value, err := p.operand()
	if err != nil {
		return nil, err
	}
	e := &expression{value: value}
	for p.take("|") {
		f, err := p.filter()
		if err != nil {
			return nil, err
		}
		e.filters = append(e.filters, f)
	}
	return e, nil
}

func (p *parser) filter() (filter, error) {
	p.blanks()
	f := filter{name: p.match(nameStart())}
	if f.name == "" {
		return f, p.unexpected()
	}
	bounds, known := arguments()[f.name]
	if !known {
		return f, diag.Faultf("the filter %q", f.name)
	}
	if p.take("(") && !p.take(")") {
		for {
			arg, err := p.operand()
			if err != nil {
				return f, err
			}
			f.args = append(f.args, arg)
			if p.take(")") {
				break
			}
			if !p.take(",") {
				return f, p.unexpected()
			}
		}
	}
	if len(f.args) < bounds.least || len(f.args) > bounds.most {
		return f, diag.Faultf("the filter %q with %d arguments", f.name, len(f.args))
	}
	return f, nil
}

func (p *parser) operand() (operand, error) {
	p.blanks()
	if p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"') {
		return p.quoted()
	}
	if number := p.match(numberStart()); number != "" {
		v, err := render.ParseNumber(number)
		if f, isFloat := v.(float64); isFloat && !strings.Contains(number, ".") {
			return operand{}, diag.Faultf("the number %s", strconv.FormatFloat(f, 'g', -1, 64))
		}
		return operand{literal: v}, err
	}
	name := p.match(nameStart())
	switch name {
	case "":
		return operand{}, p.unexpected()
	case "true", "True":
		return operand{literal: true}, nil
	case "false", "False":
		return operand{literal: false}, nil
	case "none", "None":
		return operand{}, nil
	case "not", "and", "or", "if", "else", "in", "is":
		return operand{}, diag.Faultf("%q", name)
	}
	return p.reference(name)
}

// reference reads what follows the name of a variable.
func (p *parser) reference(name string) (operand, error) {
	begin := p.at - len(name)
	o := operand{root: render.DataRoot, keys: []operand{{literal: name}}}
	switch {
	case name == "inventory_hostname":
		o.root, o.keys = render.HostRoot, []operand{{literal: "name"}}
	case name == "group_names":
		o.root, o.keys = render.HostRoot, []operand{{literal: "groups"}}
	case name == "groups":
		o.root, o.keys = render.GroupsRoot, nil
	case name == "hostvars":
		o.root, o.keys = render.HostsRoot, nil
	case diag.InInventory(name) != "":
		return o, diag.Faultf("the variable %q of a run of Ansible", name)
	}
	for {
		switch {
		case strings.HasPrefix(p.text[p.at:], "."):
			p.at++
			key := p.match(nameStart())
			if key == "" {
				return o, p.unexpected()
			}
			o.keys = append(o.keys, operand{literal: key})
		case strings.HasPrefix(p.text[p.at:], "["):
			if p.at++; len(o.keys) > maxKeys {
				return o, diag.Faultf("a reference of more than %d keys", maxKeys)
			}
			key, err := p.operand()
			if err == nil && !p.take("]") {
				err = p.unexpected()
			}
			if err != nil {
				return o, err
			}
			o.keys = append(o.keys, key)
		case strings.HasPrefix(p.text[p.at:], "("):
			return o, diag.Faultf("the function %q", p.text[begin:p.at])
		default:
			o.name = p.text[begin:p.at]
			p.owner.note(o)
			return o, nil
		}
	}
}

// maxKeys bounds a reference; [ ] nest as deeply as the text is long, which is bounded too.
const maxKeys = 100

// quoted reads a text in quotes.
func (p *parser) quoted() (operand, error) {
	quote := p.text[p.at]
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return operand{literal: b.String()}, nil
		case c != '\\':
			b.WriteByte(c)
		case p.at+1 < len(p.text):
			p.at++
			switch c := p.text[p.at]; c {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '\\', '\'', '"':
				b.WriteByte(c)
			default:
				return operand{}, diag.Faultf("the escape \\%c", c)
			}
		}
	}
	return operand{}, diag.Faultf("a text whose quote is not closed")
}
