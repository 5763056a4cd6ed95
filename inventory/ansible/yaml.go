package ansible

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// yaml11Forms are the rules by which PyYAML reads a plain scalar, those of YAML 1.1 as its
// resolver has them (int, float, bool and timestamp). A text that matches none of them is
// a string.
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

// A YAMLKind is what a plain scalar is by YAML 1.1.
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

// YAML gives the kind of a plain scalar and, as JSON, its value. The value of a date, and
// of a number that is too large, is its text.
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

// isBase60 tells 1:30, which is 90, from 01:30: an integer in base 60 does not
// begin with a zero, while one with a fraction may.
func isBase60(text string) bool {
	m := yaml11().base60.FindStringSubmatch(text)
	return m != nil && (m[1] != "" || strings.TrimLeft(text, "+-")[0] != '0')
}

// int11Value gives the digits of an integer; "" if it has none, as 0x_ has.
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
	value, _ := strconv.ParseFloat(digits, 64) // the form was checked; what is too large becomes infinite
	return Float(value)
}
