package ansible

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// yaml11Forms are the rules for plain scalars in PyYAML: the YAML 1.1 forms of its resolver (int, float, bool and
// timestamp). A text that matches no form is a string.
type yaml11Forms struct{ boolean, null, float, integer, base60, instant *regexp.Regexp }

var yaml11 = sync.OnceValue(func() yaml11Forms {
	return yaml11Forms{
		boolean: regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`),
		null:    regexp.MustCompile(`^(?:~|null|Null|NULL|)$`),
		float: regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?` +
			`|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`),
		integer: regexp.MustCompile(`^[-+]?(?:0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`),
		base60:  regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(\.[0-9_]*)?$`),
		instant: regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$|^[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?` +
			`(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9][0-9])?))?$`),
	}
})

// A YAMLKind is the type of a plain scalar in YAML 1.1.
type YAMLKind string

const (
	YAMLText   YAMLKind = "text"
	YAMLNull   YAMLKind = "nothing"
	YAMLBool   YAMLKind = "boolean"
	YAMLInt    YAMLKind = "number"
	YAMLFloat  YAMLKind = "number with a fraction"
	YAMLBase60 YAMLKind = "number in base 60"
	YAMLDate   YAMLKind = "date"
)

// YAML returns the kind of a plain scalar and its value as JSON. A date, or a number that is too large, has its text as
// value.
func YAML(text string) (YAMLKind, string) {
	switch forms := yaml11(); {
	case forms.null.MatchString(text):
		return YAMLNull, "null"
	case forms.boolean.MatchString(text):
		word := strings.ToLower(text)
		return YAMLBool, strconv.FormatBool(word == "yes" || word == "true" || word == "on")
	case forms.integer.MatchString(text) && int11Value(text) != "":
		return YAMLInt, int11Value(text)
	case isBase60(text):
		return YAMLBase60, base60Value(text)
	case forms.float.MatchString(text):
		return YAMLFloat, float11Value(text)
	case forms.instant.MatchString(text):
		return YAMLDate, text
	}
	return YAMLText, jsonText(text)
}

// isBase60 distinguishes 1:30, which is 90, from 01:30: an integer in base 60 does not begin with a zero, a number with
// a fraction may.
func isBase60(text string) bool {
	m := yaml11().base60.FindStringSubmatch(text)
	return m != nil && (m[1] != "" || strings.TrimLeft(text, "+-")[0] != '0')
}

// int11Value returns the digits of an integer; "" if it has none, like 0x_.
func int11Value(text string) string {
	digits := strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", "")
	value, ok := new(big.Int).SetString(digits, 0) // 0x, 0b and a leading 0 are Go's as well
	if !ok {
		return ""
	}
	return value.String()
}

func base60Value(text string) string {
	negative := strings.HasPrefix(text, "-")
	value := 0.0
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.TrimLeft(text, "+-"), "_", ""), ":") {
		digit, _ := strconv.ParseFloat(part, 64) // the form was checked
		value = value*60 + digit
	}
	if negative {
		value = -value
	}
	if strings.Contains(text, ".") {
		return float11Value(strconv.FormatFloat(value, 'f', -1, 64))
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

func float11Value(text string) string {
	digits := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(text), "+"), "_", "")
	digits = strings.Replace(digits, ".inf", "inf", 1)
	if digits == ".nan" {
		digits = "nan"
	}
	value, _ := strconv.ParseFloat(digits, 64) // the form was checked; a value that is too large becomes infinite
	return Float(value)
}
