package jinja

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"gopkg.in/yaml.v3"
)

// A yamlWriter writes YAML like PyYAML, which Ansible uses: with its quotes, its folding of long lines and its order.
type yamlWriter struct {
	x       *exec
	b       strings.Builder
	step    int  // indent of a level
	width   int  // at which lines are folded
	flow    int  // 1 writes collections of scalars in one line, 2 all
	sort    bool // keys
	unicode bool

	column      int
	space       bool // the last character is white space
	indentation bool // the line has only indicators so far
}

func toYAML(c *call) any     { return c.yaml(2, 1) }
func toNiceYAML(c *call) any { return c.yaml(int(c.int(1, 4)), 0) }

func (c *call) yaml(step, flow int) any {
	w := &yamlWriter{x: c.x, step: step, width: 80, flow: flow, sort: true, unicode: true, space: true, indentation: true}
	start := false
	for _, k := range c.keywords {
		switch n, isInt := small(k.value); k.name {
		case "width":
			if isInt {
				w.width = int(min(n, math.MaxInt32))
			}
			if f, isFloat := k.value.(float64); isFloat && f > math.MaxInt32 {
				w.width = math.MaxInt32
			}
		case "indent":
			w.step = int(n)
		case "sort_keys":
			w.sort = c.x.truth(k.value)
		case "allow_unicode":
			w.unicode = c.x.truth(k.value)
		case "default_flow_style":
			switch {
			case k.value == nil:
				w.flow = 1
			case c.x.truth(k.value):
				w.flow = 2
			default:
				w.flow = 0
			}
		case "explicit_start":
			start = c.x.truth(k.value)
		default:
			c.failf("the argument %q is not known here", k.name)
		}
	}
	if w.step <= 1 || w.step >= 10 {
		w.step = 2
	}
	if w.width <= 2*w.step {
		w.width = 80
	}
	if start {
		w.b.WriteString("---")
		w.column, w.space = 3, false
	}
	v := c.bound[0]
	w.value(v, -1, false, false, false)
	return c.x.text(strings.TrimLeft(w.b.String(), " ") + "\n")
}

// scalar returns the text of a scalar that is not a text.
func (w *yamlWriter) scalar(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case int64, *big.Int:
		return w.x.repr(v), true
	case float64:
		switch {
		case math.IsNaN(v):
			return ".nan", true
		case math.IsInf(v, 1):
			return ".inf", true
		case math.IsInf(v, -1):
			return "-.inf", true
		}
		s := strings.ToLower(floatText(v))
		if !strings.Contains(s, ".") && strings.Contains(s, "e") {
			s = strings.Replace(s, "e", ".0e", 1)
		}
		return s, true
	case string:
		return v, true
	}
	return "", false
}

func (w *yamlWriter) indicator(s string, needSpace, whitespace, indentation bool) {
	if !w.space && needSpace {
		s = " " + s
	}
	w.space, w.indentation = whitespace, w.indentation && indentation
	w.write(s)
}

func (w *yamlWriter) write(s string) {
	w.column += len([]rune(s))
	w.b.WriteString(s)
	w.x.length(w.b.Len())
}

func (w *yamlWriter) breakLine() {
	w.b.WriteByte('\n')
	w.space, w.indentation, w.column = true, true, 0
}

// indent begins a line at a column, unless the current one is there.
func (w *yamlWriter) indent(to int) {
	to = max(0, to)
	if !w.indentation || w.column > to || w.column == to && !w.space {
		w.breakLine()
	}
	if w.column < to {
		w.space = true
		w.write(strings.Repeat(" ", to-w.column))
	}
}

// value writes a value at an indent. flow is set inside of a collection in one line, key for a key in it.
func (w *yamlWriter) value(v any, indent int, flow, key, inMap bool) {
	w.x.step(1)
	defer w.x.deeper()()
	switch c := v.(type) {
	case *undefined:
		w.x.use(c)
	case *dict:
		w.dict(c, indent, flow)
		return
	case string:
		w.text(c, indent, flow, key)
		return
	}
	if s, ok := w.scalar(v); ok {
		w.plain(s, indent, !key)
		return
	}
	items, ok := w.x.sequence(v)
	if l, isList := v.(*list); !ok || isList && l.view != "" || typeName(v) == "range" {
		w.x.failf("%s cannot be written as YAML", typeName(v))
	}
	w.items(items, indent, flow, inMap)
}

// inline reports whether a collection is written in one line.
func (w *yamlWriter) inline(values []any) bool {
	if w.flow != 1 {
		return w.flow == 2
	}
	for _, v := range values {
		if _, scalar := w.scalar(v); !scalar {
			return false
		}
	}
	return true
}

func (w *yamlWriter) items(items []any, indent int, flow, inMap bool) {
	if flow || len(items) == 0 || w.inline(items) {
		inner := indent + w.step
		if indent < 0 {
			inner = w.step
		}
		w.indicator("[", true, true, false)
		for i, item := range items {
			if i > 0 {
				w.indicator(",", false, false, false)
			}
			if w.column > w.width {
				w.indent(inner)
			}
			w.value(item, inner, true, false, false)
		}
		w.indicator("]", false, false, false)
		return
	}
	inner := indent
	if !inMap || w.indentation { // a sequence in a mapping is not indented
		inner = max(0, indent+w.step)
		if indent < 0 {
			inner = 0
		}
	}
	inner = max(0, inner)
	for _, item := range items {
		w.indent(inner)
		w.indicator("-", true, false, true)
		w.value(item, inner, false, false, false)
	}
}

func (w *yamlWriter) dict(d *dict, indent int, flow bool) {
	pairs := w.x.pairs(d)
	if w.sort && !sortable(pairs) { // PyYAML keeps the order if keys cannot be compared
	} else if w.sort {
		w.x.sort(pairs, false, func(v any) any { return v.(tuple)[0] })
	}
	var parts []any
	for _, pair := range pairs {
		parts = append(parts, pair.(tuple)...)
	}
	if flow || len(pairs) == 0 || w.inline(parts) {
		inner := indent + w.step
		if indent < 0 {
			inner = w.step
		}
		w.indicator("{", true, true, false)
		for i, pair := range pairs {
			if i > 0 {
				w.indicator(",", false, false, false)
			}
			if w.column > w.width {
				w.indent(inner)
			}
			key, value := pair.(tuple)[0], pair.(tuple)[1]
			if w.simpleKey(key) {
				w.value(key, inner, true, true, false)
				w.indicator(":", false, false, false)
			} else {
				w.indicator("?", true, false, false)
				w.value(key, inner, true, false, false)
				if w.column > w.width {
					w.indent(inner)
				}
				w.indicator(":", true, false, false)
			}
			w.value(value, inner, true, false, false)
		}
		w.indicator("}", false, false, false)
		return
	}
	inner := indent + w.step
	if indent < 0 {
		inner = 0
	}
	for _, pair := range pairs {
		key, value := pair.(tuple)[0], pair.(tuple)[1]
		w.indent(inner)
		if w.simpleKey(key) {
			w.value(key, inner, false, true, false)
			w.indicator(":", false, false, false)
			w.value(value, inner, false, false, true)
			continue
		}
		w.indicator("?", true, false, true)
		w.value(key, inner, false, false, true)
		w.indent(inner)
		w.indicator(":", true, false, true)
		w.value(value, inner, false, false, true)
	}
}

func sortable(pairs []any) bool {
	for _, pair := range pairs {
		if a, b := pair.(tuple)[0], pairs[0].(tuple)[0]; typeName(a) != typeName(b) && !(isNumber(a) && isNumber(b)) {
			return false
		}
	}
	return len(pairs) == 0 || pairs[0].(tuple)[0] != nil
}

// simpleKey reports whether a key is short and in one line.
func (w *yamlWriter) simpleKey(key any) bool {
	s, ok := w.scalar(key)
	return ok && len([]rune(s)) < 128 && !strings.ContainsAny(s, "\n\u0085\u2028\u2029")
}

func (w *yamlWriter) text(s string, indent int, flow, key bool) {
	inner := indent + w.step
	if indent < 0 {
		inner = w.step
	}
	if key {
		inner = indent + w.step
	}
	switch w.style(s, flow, key) {
	case '"':
		w.double(s, inner, !key)
	case '\'':
		w.single(s, inner, !key)
	default:
		w.plain(s, inner, !key)
	}
}

// resolved matches plain scalars that YAML 1.1 takes for something else than a text.
var resolved = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|~|null|Null|NULL|<<|=|)$`),
		regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`),
		regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`),
		regexp.MustCompile(`^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)$`),
		regexp.MustCompile(`^[!&*]$`),
	}
})

// style returns the quote that a text needs, or 0.
func (w *yamlWriter) style(s string, flow, key bool) byte {
	if s == "" {
		return '\''
	}
	for _, p := range resolved() {
		if p.MatchString(s) {
			return '\''
		}
	}
	all := []rune(s)
	isBreak := func(r rune) bool { return r == '\n' || r == 0x85 || r == 0x2028 || r == 0x2029 }
	blank := func(i int) bool {
		return i < 0 || i >= len(all) || strings.ContainsRune("\x00 \t\r\n\u0085\u2028\u2029", all[i])
	}
	block, flowed := strings.HasPrefix(s, "---") || strings.HasPrefix(s, "..."), false
	flowed = block
	multiline, special, breaks := false, false, false
	spaceBreak, breakSpace := false, false
	previousSpace, previousBreak := false, false
	for i, r := range all {
		switch {
		case i == 0 && strings.ContainsRune("#,[]{}&*!|>'\"%@`", r):
			flowed, block = true, true
		case i == 0 && (r == '?' || r == ':'):
			flowed = true
			block = block || blank(i+1)
		case i == 0 && r == '-' && blank(i+1):
			flowed, block = true, true
		case i > 0 && strings.ContainsRune(",?[]{}", r):
			flowed = true
		case i > 0 && r == ':':
			flowed = true
			block = block || blank(i+1)
		case r == '#' && blank(i-1):
			flowed, block = true, true
		}
		if isBreak(r) {
			breaks, multiline = true, true
		}
		special = special || r != '\n' && !w.printable(r)
		switch {
		case r == ' ':
			breakSpace = breakSpace || previousBreak
			previousSpace, previousBreak = true, false
		case isBreak(r):
			spaceBreak = spaceBreak || previousSpace
			previousSpace, previousBreak = false, true
		default:
			previousSpace, previousBreak = false, false
		}
	}
	first, last := all[0], all[len(all)-1]
	edge := first == ' ' || last == ' ' || isBreak(first) || isBreak(last)
	single := true
	plainFlow, plainBlock := !flowed, !block
	if edge {
		plainFlow, plainBlock = false, false
	}
	if breakSpace {
		plainFlow, plainBlock, single = false, false, false
	}
	if spaceBreak || special {
		plainFlow, plainBlock, single = false, false, false
	}
	if breaks {
		plainFlow, plainBlock = false, false
	}
	if !(key && multiline) && (flow && plainFlow || !flow && plainBlock) {
		return 0
	}
	if single && !(key && multiline) {
		return '\''
	}
	return '"'
}

// plain writes a text without quotes, folded at blanks where its line is too long.
func (w *yamlWriter) plain(s string, indent int, fold bool) {
	if s == "" {
		return
	}
	if !w.space {
		w.write(" ")
	}
	w.space, w.indentation = false, false
	w.folded([]rune(s), indent, fold, false)
}

// folded writes characters; a single blank may become a line break.
func (w *yamlWriter) folded(all []rune, indent int, fold, single bool) {
	for i := 0; i < len(all); {
		j := i
		switch {
		case all[i] == ' ':
			for j < len(all) && all[j] == ' ' {
				j++
			}
			inside := !single || i > 0 && j < len(all)
			if j == i+1 && w.column > w.width && fold && inside {
				w.indent(indent)
				w.space, w.indentation = false, false
			} else {
				w.write(string(all[i:j]))
			}
		case all[i] == '\n' || all[i] == 0x85 || all[i] == 0x2028 || all[i] == 0x2029:
			for j < len(all) && (all[j] == '\n' || all[j] == 0x85 || all[j] == 0x2028 || all[j] == 0x2029) {
				j++
			}
			if all[i] == '\n' {
				w.breakLine()
			}
			for _, r := range all[i:j] {
				if r == '\n' {
					w.breakLine()
				} else {
					w.b.WriteRune(r)
					w.column = 0
				}
			}
			w.indent(indent)
			w.space, w.indentation = false, false
		default:
			for j < len(all) && all[j] != ' ' && all[j] != '\n' && all[j] != 0x85 && all[j] != 0x2028 && all[j] != 0x2029 {
				j++
			}
			part := string(all[i:j])
			if single {
				part = strings.ReplaceAll(part, "'", "''")
			}
			w.write(part)
		}
		i = j
	}
}

func (w *yamlWriter) single(s string, indent int, fold bool) {
	w.indicator("'", true, false, false)
	w.folded([]rune(s), indent, fold, true)
	w.indicator("'", false, false, false)
}

var doubleEscapes = map[rune]string{
	0: `\0`, 7: `\a`, 8: `\b`, 9: `\t`, 10: `\n`, 11: `\v`, 12: `\f`, 13: `\r`, 27: `\e`, '"': `\"`, '\\': `\\`, 0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`,
}

func (w *yamlWriter) double(s string, indent int, fold bool) {
	w.indicator(`"`, true, false, false)
	all := []rune(s)
	spaces := false
	for i, r := range all {
		switch text, escaped := doubleEscapes[r]; {
		case r == ' ':
			if !fold || spaces || w.column <= w.width || i == 0 || i == len(all)-1 {
				w.write(" ")
			} else {
				w.indent(indent)
				if all[i+1] == ' ' {
					w.write(`\`)
				}
			}
			spaces = true
			continue
		case escaped:
			w.write(text)
		case w.printable(r):
			w.write(string(r))
		case r <= 0xff:
			w.write(`\x` + hexText(r, 2))
		case r <= 0xffff:
			w.write(`\u` + hexText(r, 4))
		default:
			w.write(`\U` + hexText(r, 8))
		}
		spaces = false
	}
	w.indicator(`"`, false, false, false)
}

// printable reports whether libyaml writes a character as it is.
func (w *yamlWriter) printable(r rune) bool {
	return r >= ' ' && r <= '~' || w.unicode && (r >= 0xa0 && r <= 0xd7ff || r >= 0xe000 && r < 0xfffe && r != 0xfeff)
}

func hexText(r rune, digits int) string {
	s := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return strings.Repeat("0", digits-len(s)) + s
}

// fromYAML is from_yaml: YAML 1.1, as Ansible reads it.
func fromYAML(c *call) any {
	s, ok := c.bound[0].(string)
	if !ok {
		return c.bound[0]
	}
	if len(s) > 1<<20 {
		c.failf("a text of more than 1 MiB")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
		c.failf("the text is not YAML")
	}
	if doc.Kind == 0 {
		return nil
	}
	return c.yamlValue(doc.Content[0])
}

func (c *call) yamlValue(n *yaml.Node) any {
	defer c.x.deeper()()
	c.x.step(1)
	switch n.Kind {
	case yaml.AliasNode:
		return c.yamlValue(n.Alias)
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, item := range n.Content {
			l[i] = c.yamlValue(item)
		}
		return c.x.newList(l)
	case yaml.MappingNode:
		d := newDict()
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Tag == "!!merge" {
				c.failf("a merge key")
			}
			d.set(c.x, c.yamlValue(n.Content[i]), c.yamlValue(n.Content[i+1]))
		}
		return d
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Tag == "!!str" && n.Style&yaml.TaggedStyle != 0 {
		return n.Value
	}
	return c.yamlScalar(n.Value)
}

// yamlScalar is a plain scalar of YAML 1.1.
func (c *call) yamlScalar(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	}
	switch {
	case resolved()[0].MatchString(s) && s != "<<" && s != "=":
		switch strings.ToLower(s) {
		case "yes", "true", "on":
			return true
		}
		return false
	case resolved()[2].MatchString(s):
		digits := strings.ReplaceAll(s, "_", "")
		if strings.Contains(digits, ":") {
			total := int64(0)
			for part := range strings.SplitSeq(strings.TrimLeft(digits, "+-"), ":") {
				n, _ := strconv.ParseInt(part, 10, 32)
				total = total*60 + n
			}
			if digits[0] == '-' {
				total = -total
			}
			return total
		}
		if n, ok := new(big.Int).SetString(digits, 0); ok {
			return c.x.bounded(n)
		}
	case resolved()[1].MatchString(s):
		digits := strings.ToLower(strings.ReplaceAll(s, "_", ""))
		if strings.Contains(digits, ":") {
			c.failf("a number in base 60")
		}
		digits = strings.NewReplacer(".inf", "inf", ".nan", "nan").Replace(digits)
		f, err := strconv.ParseFloat(digits, 64)
		if err == nil {
			return f
		}
	case resolved()[3].MatchString(s) && unicode.IsDigit(rune(s[0])):
		c.failf("a date")
	}
	return s
}
