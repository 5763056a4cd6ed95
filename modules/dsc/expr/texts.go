package expr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// textFunctions make and split strings. Positions count characters.
var textFunctions = []*function{
	moving(pure("concat", 2, -1, concat, kString|kArray)),
	pure("string", 1, 1, toText, anything),
	pure("json", 1, 1, func(args []any) (any, error) {
		v, err := Decode([]byte(args[0].(string)))
		if err != nil {
			return nil, fmt.Errorf("the text is not JSON: %w", err)
		}
		return v, nil
	}, kString),
	pure("join", 2, 2, join, kArray, kString),
	pure("format", 2, -1, format, kString, kBool|kInt|kString),
	pure("substring", 2, 3, substring, kString, kInt),
	pure("toLower", 1, 1, func(args []any) (any, error) { return strings.ToLower(args[0].(string)), nil }, kString),
	pure("toUpper", 1, 1, func(args []any) (any, error) { return strings.ToUpper(args[0].(string)), nil }, kString),
	pure("trim", 1, 1, func(args []any) (any, error) { return strings.TrimSpace(args[0].(string)), nil }, kString),
	pure("startsWith", 2, 2, func(args []any) (any, error) { return strings.HasPrefix(args[0].(string), args[1].(string)), nil }, kString),
	pure("endsWith", 2, 2, func(args []any) (any, error) { return strings.HasSuffix(args[0].(string), args[1].(string)), nil }, kString),
	pure("uniqueString", 1, -1, uniqueString, kString),
}

// concat joins strings or arrays.
func concat(args []any) (any, error) {
	if !sameKind(args) {
		return nil, errors.New("the arguments must be all strings or all arrays")
	}
	if _, ok := args[0].([]any); ok {
		all := []any{}
		for _, arg := range args {
			all = append(all, arg.([]any)...)
		}
		return all, nil
	}
	var b strings.Builder
	for _, arg := range args {
		b.WriteString(arg.(string))
	}
	return b.String(), nil
}

func toText(args []any) (any, error) {
	if s, ok := text(args[0]); ok {
		return s, nil
	}
	return jsonText(args[0]) // null too
}

func join(args []any) (any, error) {
	var texts []string
	for i, item := range args[0].([]any) {
		s, ok := text(item)
		if !ok {
			return nil, fmt.Errorf("element %d is %s", i, Kind(item))
		}
		texts = append(texts, s)
	}
	delimiter := args[1].(string)
	if len(delimiter)*len(texts) > maxBytes {
		return nil, errors.New("the result is too long")
	}
	return strings.Join(texts, delimiter), nil
}

// format fills {0}, {1:x} and so on, as Rust's format! does: {{ and }} are braces; x,
// X, o, b, e and E are for integers.
func format(args []any) (any, error) {
	var b strings.Builder
	rest := args[0].(string)
	for rest != "" {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			break
		}
		b.WriteString(rest[:at])
		brace := rest[at]
		rest = rest[at+1:]
		if strings.HasPrefix(rest, string(brace)) {
			b.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		inner, after, closed := strings.Cut(rest, "}")
		if brace == '}' || !closed {
			return nil, errors.New("a { or } stands alone; write {{ and }} for braces")
		}
		s, err := formatted(args[1:], inner)
		if err != nil {
			return nil, err
		}
		b.WriteString(s)
		if rest = after; b.Len() > maxBytes {
			return nil, errors.New("the result is too long")
		}
	}
	return b.String() + rest, nil
}

func formatted(args []any, inner string) (string, error) {
	position, spec, _ := strings.Cut(inner, ":")
	i, err := strconv.ParseUint(position, 10, 31)
	switch {
	case err != nil:
		return "", fmt.Errorf("{%s} names no argument; write {0}", inner)
	case int(i) >= len(args):
		return "", fmt.Errorf("{%s} stands for argument %d of %d", inner, i+1, len(args))
	case spec == "":
		s, _ := text(args[i])
		return s, nil
	}
	n, ok := args[i].(int64)
	if !ok {
		return "", fmt.Errorf("{%s} is for integers, not for %s", inner, Kind(args[i]))
	}
	switch spec {
	case "x", "X", "o", "b":
		return fmt.Sprintf("%"+spec, uint64(n)), nil // two's complement, as in Rust
	case "e", "E":
		return exponent(n, spec), nil
	}
	return "", fmt.Errorf("{%s}: the forms are x, X, o, b, e and E", inner)
}

// exponent writes an integer with an exponent in Rust's way: 1.2e1.
func exponent(n int64, e string) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	power := len(digits) - 1
	mantissa := strings.TrimRight(digits[1:], "0")
	if mantissa != "" {
		mantissa = "." + mantissa
	}
	return sign + digits[:1] + mantissa + e + strconv.Itoa(power)
}

func substring(args []any) (any, error) {
	runes := []rune(args[0].(string))
	start, n := args[1].(int64), int64(0)
	if start < 0 || start > int64(len(runes)) {
		return nil, fmt.Errorf("the start %d is outside a string of %s", start, plural(len(runes), "character"))
	}
	n = int64(len(runes)) - start
	if len(args) == 3 {
		if given := args[2].(int64); given < 0 || given > n {
			return nil, fmt.Errorf("the length %d is outside 0-%d", given, n)
		}
		n = args[2].(int64)
	}
	return string(runes[start : start+n]), nil
}

// uniqueString returns a word of 13 characters made from the arguments: MurmurHash64A of them joined by dashes, little
// endian, in Base32 of lower-case letters, as dsc makes it. It is neither a secret nor a signature.
func uniqueString(args []any) (any, error) {
	var texts []string
	for _, arg := range args {
		texts = append(texts, arg.(string))
	}
	return lowerBase32(murmur64A([]byte(strings.Join(texts, "-")))), nil
}

// utcNow returns the time. Only defaults of parameters may call it: otherwise no two checks would want the same.
func utcNow(e *Evaluator, _ *call, args []any) (Result, error) {
	if e.names.Now == nil {
		return Result{}, withHint("take it from a parameter with such a default", "utcNow() can be used in the default of a parameter only")
	}
	now := e.names.Now().UTC()
	if len(args) == 0 {
		return Result{value: now.Format("2006-01-02T15:04:05.000000Z")}, nil
	}
	return Result{value: dotnetTime(now, args[0].(string))}, nil
}

// dotnetTime formats a time by the parts of .NET's format that dsc knows. Other
// characters stand for themselves.
func dotnetTime(t time.Time, format string) string {
	parts := []struct{ dotnet, layout string }{
		{"yyyy", "2006"}, {"yy", "06"}, {"y", "2006"},
		{"MMMM", "January"}, {"MMM", "Jan"}, {"MM", "01"}, {"M", "1"},
		{"dddd", "Monday"}, {"ddd", "Mon"}, {"dd", "02"}, {"d", "2"},
		{"HH", "15"}, {"H", "15"}, {"hh", "03"}, {"h", "3"},
		{"mm", "04"}, {"m", "4"}, {"ss", "05"}, {"s", "5"}, {"fff", ".000"},
		{"zzz", "-07:00"}, {"tt", "PM"},
	}
	var b strings.Builder
	for format != "" {
		i := slices.IndexFunc(parts, func(p struct{ dotnet, layout string }) bool { return strings.HasPrefix(format, p.dotnet) })
		if i < 0 {
			b.WriteByte(format[0])
			format = format[1:]
			continue
		}
		s := t.Format(parts[i].layout)
		switch parts[i].dotnet {
		case "H":
			s = strconv.Itoa(t.Hour())
		case "fff":
			s = s[1:]
		}
		b.WriteString(s)
		format = format[len(parts[i].dotnet):]
	}
	return b.String()
}
