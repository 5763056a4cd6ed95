package yamlnode

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// KeyValues reads a=b c="d e" as a map; nil if it is something else.
func KeyValues(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
	for _, word := range SplitWords(n.Value) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || !isWord(key) {
			return nil
		}
		v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: Unquote(value), Line: n.Line}
		if v.Value == value && Digits(value) {
			v.Tag = "!!int"
		}
		out.Content = append(out.Content, Text(key), v)
	}
	return out
}

// Digits reports whether a text is a number in decimal digits.
func Digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// SplitWords splits at blanks, outside of quotes and of braces of Jinja.
func SplitWords(text string) []string {
	var words []string
	var b strings.Builder
	var quote byte
	depth := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case strings.HasPrefix(text[i:], "{{") || strings.HasPrefix(text[i:], "{%"):
			depth++
			b.WriteString(text[i : i+2])
			i++
			continue
		case depth > 0 && (strings.HasPrefix(text[i:], "}}") || strings.HasPrefix(text[i:], "%}")):
			depth--
			b.WriteString(text[i : i+2])
			i++
			continue
		case depth > 0:
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\n' || c == '\t'):
			if b.Len() > 0 {
				words = append(words, b.String())
				b.Reset()
			}
			continue
		}
		b.WriteByte(c)
	}
	if b.Len() > 0 {
		words = append(words, b.String())
	}
	return words
}

// Unquote takes the quotes around a text away.
func Unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// isWord reports whether a text is the name of a variable.
func isWord(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Names are the words of a list, or of a text with commas between them.
func Names(n *yaml.Node) []string {
	var list []string
	for _, one := range Items(n) {
		for _, tag := range strings.Split(one.Value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				list = append(list, tag)
			}
		}
	}
	return list
}
