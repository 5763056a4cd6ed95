package jinja

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A spec is the format of a value: the part after the colon in format(), or after the sign %.
type spec struct {
	fill      string
	align     byte // < > = ^ or 0
	sign      byte // + - blank or 0
	alternate bool
	width     int
	group     string // , or _
	precision int    // -1 is none
	verb      byte   // 0 is none
}

func (x *exec) widthOf(s string) int {
	n, err := strconv.Atoi(s)
	if s != "" && err != nil {
		n = math.MaxInt32
	}
	if n > maxWidth {
		x.length(n)
	}
	return n
}

var percentPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^%(?:\(([^()]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?([a-zA-Z%])`)
})

// percent is the operator % of a text.
func (x *exec) percent(s string, v any) any {
	args, isTuple := v.(tuple)
	if !isTuple {
		args = tuple{v}
	}
	names, _ := v.(*dict)
	var b strings.Builder
	taken, named := 0, false
	take := func() any {
		if taken++; taken > len(args) {
			x.failf("%%: there are not enough values for the text")
		}
		return args[taken-1]
	}
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		m := percentPattern().FindStringSubmatch(s[i:])
		if m == nil {
			x.failf("%%: the text has a %% that is followed by nothing that is known")
		}
		f := flags(m[2], m[5][0])
		number := func(text string) int {
			if text != "*" {
				return x.widthOf(text)
			}
			n, ok := small(take())
			if !ok {
				x.failf("%%: * needs an int")
			}
			if n < 0 {
				f.align, n = '<', -n
			}
			return x.widthOf(strconv.FormatInt(n, 10))
		}
		s = s[i+len(m[0]):]
		if f.verb == '%' {
			b.WriteByte('%')
			continue
		}
		var value any
		if strings.HasPrefix(m[0], "%(") {
			if named = true; names == nil {
				x.failf("%%: a name in parentheses needs a dict")
			}
			var ok bool
			if value, ok = names.get(x, m[1]); !ok {
				x.failf("%%: the dict has no key for a name in the text")
			}
		}
		f.width = number(m[3])
		if strings.Contains(m[0], ".") && strings.Contains(strings.TrimPrefix(m[0], "%("+m[1]+")"), ".") {
			f.precision = number(m[4])
		}
		if !strings.HasPrefix(m[0], "%(") {
			value = take()
		}
		b.WriteString(x.verb(f, value))
		x.length(b.Len())
	}
	_, isList := v.(*list)
	if !named && taken < len(args) && (names == nil && !isList || isTuple) {
		x.failf("%%: the text does not use all values")
	}
	b.WriteString(s)
	return x.text(b.String())
}

// flags returns the spec of the characters after the sign %.
func flags(text string, verb byte) spec {
	f := spec{precision: -1, verb: verb, align: '>', fill: " "}
	for _, c := range text {
		switch c {
		case '-':
			f.align = '<'
		case '0':
			if f.align != '<' {
				f.align, f.fill = '=', "0"
			}
		case '#':
			f.alternate = true
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		}
	}
	return f
}

// verb writes one value by the rules of the operator %.
func (x *exec) verb(f spec, v any) string {
	switch f.verb {
	case 's', 'r', 'a':
		text := ""
		if f.verb == 's' {
			text = x.str(v)
		} else {
			text = x.repr(v)
		}
		if f.align == '=' {
			f.align, f.fill = '>', " "
		}
		return x.pad(f, cut(text, f.precision))
	case 'c':
		if n, ok := small(v); ok && n >= 0 && n <= utf8.MaxRune {
			return x.pad(f, string(rune(n)))
		}
		if s, ok := v.(string); ok && utf8.RuneCountInString(s) == 1 {
			return x.pad(f, s)
		}
		x.failf("%%c needs a character")
	}
	if u, is := v.(*undefined); is {
		x.use(u)
	}
	n, fl, isFloat, ok := number(v)
	if !ok {
		x.failf("%%%c needs a number, not %s", f.verb, typeName(v))
	}
	switch f.verb {
	case 'd', 'i', 'u':
		if isFloat {
			if math.IsNaN(fl) || math.IsInf(fl, 0) {
				x.failf("%%d needs a finite number")
			}
			n, _ = big.NewFloat(fl).Int(nil)
		}
		f.verb = 'd'
		digits := new(big.Int).Abs(n).String()
		for len(digits) < f.precision {
			digits = "0" + digits
		}
		return x.signedText(f, n.Sign() < 0, "", digits)
	case 'x', 'X', 'o':
		if isFloat {
			x.failf("%%%c needs an int, not float", f.verb)
		}
		return x.whole(f, n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !isFloat {
			fl, _ = asFloat(v)
		}
		if f.precision < 0 {
			f.precision = 6
		}
		return x.float(f, fl)
	}
	x.failf("%%%c is unknown", f.verb)
	return ""
}

func cut(s string, n int) string {
	if n < 0 || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string(runes(s)[:n])
}

// pad fills a text to the width of f.
func (x *exec) pad(f spec, s string) string {
	missing := f.width - utf8.RuneCountInString(s)
	if missing <= 0 {
		return s
	}
	fill := f.fill
	if fill == "" {
		fill = " "
	}
	x.length(len(s) + missing*len(fill))
	switch f.align {
	case '<':
		return s + strings.Repeat(fill, missing)
	case '^':
		return strings.Repeat(fill, missing/2) + s + strings.Repeat(fill, missing-missing/2)
	}
	return strings.Repeat(fill, missing) + s
}

// signedText writes a number: its sign and prefix are before the zeros that fill it.
func (x *exec) signedText(f spec, negative bool, prefix, digits string) string {
	sign := ""
	switch {
	case negative:
		sign = "-"
	case f.sign == '+' || f.sign == ' ':
		sign = string(f.sign)
	}
	if f.group != "" {
		whole, fraction := digits, ""
		if i := strings.IndexAny(digits, ".e"); i >= 0 && strings.IndexByte("bxXo", f.verb) < 0 {
			whole, fraction = digits[:i], digits[i:]
		}
		size := 3
		if f.verb != 0 && strings.IndexByte("bxXo", f.verb) >= 0 {
			size = 4
		}
		if f.align == '=' && f.fill == "0" {
			for len(grouped(whole, size, f.group))+len(fraction)+len(sign)+len(prefix) < f.width && len(grouped("0"+whole, size, f.group))+len(fraction)+len(sign)+len(prefix) <= f.width+1 {
				whole = "0" + whole
			}
		}
		digits = grouped(whole, size, f.group) + fraction
	}
	if f.align == '=' {
		inner := f
		inner.width -= len(sign) + len(prefix)
		inner.align = '>'
		return sign + prefix + x.pad(inner, digits)
	}
	return x.pad(f, sign+prefix+digits)
}

func grouped(digits string, size int, by string) string {
	for i := len(digits) - size; i > 0; i -= size {
		digits = digits[:i] + by + digits[i:]
	}
	return digits
}

// whole writes a whole number in base 2, 8, 10 or 16.
func (x *exec) whole(f spec, n *big.Int) string {
	base, prefix := 10, ""
	switch f.verb {
	case 'x', 'X':
		base, prefix = 16, "0"+string(f.verb)
	case 'o':
		base, prefix = 8, "0o"
	case 'b':
		base, prefix = 2, "0b"
	}
	digits := new(big.Int).Abs(n).Text(base)
	if f.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if !f.alternate {
		prefix = ""
	}
	for len(digits) < f.precision {
		digits = "0" + digits
	}
	return x.signedText(f, n.Sign() < 0, prefix, digits)
}

// float writes a float with a precision.
func (x *exec) float(f spec, v float64) string {
	verb, scale := f.verb, ""
	upper := verb == 'E' || verb == 'F' || verb == 'G'
	switch verb {
	case 'E', 'F', 'G':
		verb += 'a' - 'A'
	case '%':
		verb, scale, v = 'f', "%", v*100
	case 'n':
		verb = 'g'
	}
	if f.precision > maxWidth {
		x.length(f.precision)
	}
	abs := math.Abs(v)
	var digits string
	switch {
	case math.IsNaN(v):
		digits = "nan"
	case math.IsInf(v, 0):
		digits = "inf"
	case verb == 'g':
		digits = general(abs, max(1, f.precision), f.alternate)
	default:
		digits = strconv.FormatFloat(abs, verb, f.precision, 64)
	}
	if upper {
		digits = strings.ToUpper(digits)
	}
	return x.signedText(f, math.Signbit(v) && !math.IsNaN(v), "", digits+scale)
}

// general is the verb g: a number of significant digits without zeros at the end.
func general(v float64, precision int, zeros bool) string {
	text := strconv.FormatFloat(v, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	n, _ := strconv.Atoi(exponent)
	if n < -4 || n >= precision {
		if !zeros && strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return mantissa + "e" + exponent
	}
	text = strconv.FormatFloat(v, 'f', precision-1-n, 64)
	if !zeros && strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

var fieldPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^.\[!:{}]*)((?:\.[^.\[!:{}]+|\[[^\]]+\])*)(?:!([rsa]))?(?::(.*))?$`)
})

// format is the method format of a text.
func (x *exec) format(s string, args []any, keywords []named) any {
	next := 0
	return x.text(x.formatted(s, args, keywords, &next, 2))
}

func (x *exec) formatted(s string, args []any, keywords []named, next *int, depth int) string {
	if depth < 0 {
		x.failf("format: the fields nest too deeply")
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		if strings.HasPrefix(s[i:], "{{") || strings.HasPrefix(s[i:], "}}") {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		if s[i] == '}' {
			x.failf("format: a single } in the text")
		}
		end, open := -1, 0
		for j := i; j < len(s) && end < 0; j++ {
			switch s[j] {
			case '{':
				open++
			case '}':
				if open--; open == 0 {
					end = j
				}
			}
		}
		if end < 0 {
			x.failf("format: a single { in the text")
		}
		m := fieldPattern().FindStringSubmatch(s[i+1 : end])
		if m == nil {
			x.failf("format: a field is not understood")
		}
		v := x.field(m[1], m[2], args, keywords, next)
		switch m[3] {
		case "s":
			v = x.str(v)
		case "r", "a":
			v = x.repr(v)
		}
		b.WriteString(x.formatOne(v, x.formatted(m[4], args, keywords, next, depth-1)))
		x.length(b.Len())
		s = s[end+1:]
	}
	return b.String()
}

// field finds the value of a field, such as 0.name[key].
func (x *exec) field(first, path string, args []any, keywords []named, next *int) (v any) {
	n, err := strconv.Atoi(first)
	switch {
	case first == "":
		n, err = *next, nil
		*next++
	case err != nil:
		found := false
		for _, k := range keywords {
			if k.name == first {
				v, found = k.value, true
			}
		}
		if !found {
			x.failf("format: there is no value for a name in the text")
		}
	}
	if err == nil {
		if n < 0 || n >= len(args) {
			x.failf("format: there are not enough values for the text")
		}
		v = args[n]
	}
	for path != "" {
		if path[0] == '[' {
			key, rest, _ := strings.Cut(path[1:], "]")
			path = rest
			var k any = key
			if i, err := strconv.ParseInt(key, 10, 64); err == nil {
				k = i
			}
			v = x.item(v, k)
			continue
		}
		end := strings.IndexAny(path[1:], ".[") + 1
		if end == 0 {
			end = len(path)
		}
		d, isDict := v.(*dict)
		if isDict && d != nil {
			x.failf("format: a dict has no attributes; write [key]")
		}
		v = x.attribute(v, path[1:end])
		path = path[end:]
	}
	if u, is := v.(*undefined); is {
		x.use(u)
	}
	return v
}

var specPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([bcdeEfFgGnosxX%])?$`)
})

// formatOne is format(v, spec) of Python.
func (x *exec) formatOne(v any, text string) string {
	if text == "" {
		return x.str(v)
	}
	m := specPattern().FindStringSubmatch(text)
	if m == nil {
		x.failf("format: the part after the colon is not understood")
	}
	f := spec{fill: m[1], precision: -1, alternate: m[4] != "", width: x.widthOf(m[6]), group: m[7]}
	if m[2] != "" {
		f.align = m[2][0]
	}
	if m[3] != "" {
		f.sign = m[3][0]
	}
	if m[8] != "" {
		f.precision = x.widthOf(m[8])
	}
	if m[9] != "" {
		f.verb = m[9][0]
	}
	if m[5] != "" && f.align == 0 {
		f.fill, f.align = "0", '='
	}
	s, isText := v.(string)
	if isText {
		if f.verb != 0 && f.verb != 's' || f.sign != 0 || f.alternate || f.group != "" || f.align == '=' && m[2] != "" {
			x.failf("format: the part after the colon does not fit a str")
		}
		if f.align == 0 || f.align == '=' {
			f.align = '<'
		}
		return x.pad(f, cut(s, f.precision))
	}
	n, fl, isFloat, ok := number(v)
	if !ok {
		x.failf("format: %s has no format", typeName(v))
	}
	if f.align == 0 {
		f.align = '>'
	}
	if isFloat || f.verb != 0 && strings.IndexByte("eEfFgG%", f.verb) >= 0 {
		if !isFloat {
			fl, _ = asFloat(v)
		}
		switch {
		case f.verb == 0 && f.precision < 0:
			return x.signedText(f, math.Signbit(fl), "", strings.TrimPrefix(floatText(fl), "-"))
		case f.verb == 0:
			digits := general(math.Abs(fl), max(1, f.precision), false)
			if !strings.ContainsAny(digits, ".e") {
				digits += ".0"
			}
			return x.signedText(f, math.Signbit(fl), "", digits)
		case strings.IndexByte("dxXobc", f.verb) >= 0 || f.verb == 's':
			x.failf("format: the part after the colon does not fit a float")
		}
		if f.precision < 0 {
			f.precision = 6
		}
		return x.float(f, fl)
	}
	if f.precision >= 0 || f.verb == 's' {
		x.failf("format: the part after the colon does not fit an int")
	}
	if f.verb == 'c' {
		return x.pad(f, string(rune(n.Int64())))
	}
	return x.whole(f, n)
}
