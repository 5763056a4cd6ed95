package diag

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// A JinjaLeftover is Jinja in a text of another language, which would print it unchanged.
type JinjaLeftover struct {
	Offset int    // offset of the first piece of Jinja, in bytes
	Found  string // this piece, shortened
	Write  string // suggested replacement
	More   int    // how many pieces follow
}

// String describes the piece and the replacement.
func (l JinjaLeftover) String() string {
	more := ""
	if l.More > 0 {
		more = fmt.Sprintf(", and this text contains more Jinja (%d)", l.More)
	}
	return fmt.Sprintf("ccm-push does not evaluate Jinja here: %s%s; %s", l.Found, more, l.Write)
}

var (
	// jinjaStatement is a statement, with its keyword and the rest of it.
	jinjaStatement = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{%[-+]?\s*(for|endfor|if|elif|else|endif|set|endset|include|import|from|macro|endmacro|call|filter|block|endblock|extends|raw|endraw|with|endwith|do|break|continue)\b([^\n]*?)[-+]?%\}`)
	})
	// jinjaValue is a value, perhaps with filters. Go templates, with . $ or a word and
	// its arguments, and ${{ … }} of others look different.
	jinjaValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^$\\])(\{\{-?\s*([A-Za-z_]\w*(?:\.\w+|\[[^\]\n]*\])*)\s*((?:\|[^\n{}]*?)?)-?\}\})`)
	})
	jinjaPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*(?:\.\w+|\[[^\]\n]*\])*$`) })
	jinjaLoop = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\w+)\s+in\s+(.*?)\s*$`) })
)

// goKeywords are words in {{ }} that are statements of Go templates.
var goKeywords = map[string]bool{"end": true, "else": true, "break": true, "continue": true}

// JinjaStatements finds statements of Jinja, {% … %}, or nil.
func JinjaStatements(text string) *JinjaLeftover {
	all := jinjaStatement().FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		return nil
	}
	m := all[0]
	l := &JinjaLeftover{Offset: m[0], Found: shortened(text[m[0]:m[1]]), More: len(all) - 1}
	l.Write = `write the text in Jet syntax into a file, and use content: "{{ jet('FILE.jet') }}"`
	return l
}

// JinjaInJet finds statements and values of Jinja in a Jet template, outside the Jet actions between left and right, or
// nil.
func JinjaInJet(text, left, right string) *JinjaLeftover {
	text = withoutActions(withoutActions(text, left, right), "{*", "*}")
	var first *JinjaLeftover
	more := -1
	add := func(from, to int, write string) {
		if more++; first == nil || from < first.Offset {
			first = &JinjaLeftover{Offset: from, Found: shortened(text[from:to]), Write: "write " + write}
		}
	}
	if !strings.Contains(text, "{%") && !strings.Contains(text, "{{") { // the expressions are compiled when they are needed
		return nil
	}
	for _, m := range jinjaStatement().FindAllStringSubmatchIndex(text, -1) {
		add(m[0], m[1], left+" "+jetStatement(text[m[2]:m[3]], strings.TrimSpace(text[m[4]:m[5]]))+" "+right)
	}
	if left != "{{" {
		for _, m := range jinjaValue().FindAllStringSubmatchIndex(text, -1) {
			if name := text[m[4]:m[5]]; !goKeywords[name] {
				add(m[2], m[3], left+" "+jetValue(name, text[m[6]:m[7]])+" "+right)
			}
		}
	}
	if first != nil {
		first.More = more
	}
	return first
}

// withoutActions replaces the actions of Jet by blanks, so that offsets stay the same.
func withoutActions(text, left, right string) string {
	b := []byte(text)
	for at := 0; ; {
		begin := strings.Index(text[at:], left)
		if begin < 0 {
			return string(b)
		}
		begin += at
		end := strings.Index(text[begin:], right)
		if end < 0 {
			return string(b)
		}
		end += begin + len(right)
		for i := begin; i < end; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
		at = end
	}
}

// jetStatement returns the Jet form of a Jinja statement.
func jetStatement(keyword, rest string) string {
	switch keyword {
	case "for":
		if m := jinjaLoop().FindStringSubmatch(rest); m != nil {
			return "range _, " + m[1] + " := " + jetCondition(m[2])
		}
		return "range key, value := …"
	case "if":
		return "if " + jetCondition(rest)
	case "elif":
		return "else if " + jetCondition(rest)
	case "else":
		return "else"
	case "set":
		return strings.Replace(rest, "=", ":=", 1)
	case "include":
		return "include " + rest
	}
	return map[bool]string{true: "end", false: "…"}[strings.HasPrefix(keyword, "end")]
}

// jetValue returns the Jet form of a Jinja value.
func jetValue(name, filters string) string {
	filter := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(filters), "|"))
	word, _, _ := strings.Cut(filter, "(")
	if words, ok := ForeignFunction(strings.TrimSpace(word)); ok && words.Jet != "" {
		return strings.TrimPrefix(words.Jet, "write ")
	}
	return jetName(name)
}

// jetCondition returns the Jet form of a condition or a list, if it is just a variable.
func jetCondition(s string) string {
	if jinjaPath().MatchString(s) {
		return jetName(s)
	}
	return "…"
}

// jetName returns the Jet name of a variable: the data has a root of its own.
func jetName(s string) string {
	s = strings.ReplaceAll(s, "'", `"`)
	first := s[:len(s)-len(strings.TrimLeft(s, wordCharacters))]
	if value := InInventory(first); value != "" {
		return value + s[len(first):]
	}
	if hint := AnsibleVariable(first); strings.HasPrefix(hint, "write Facts.") {
		s, _, _ = strings.Cut(strings.TrimPrefix(hint, "write "), ",")
		return s
	}
	if s == "item" || strings.HasPrefix(s, "item.") {
		return "I" + s[1:]
	}
	return "Data." + s
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

func shortened(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
