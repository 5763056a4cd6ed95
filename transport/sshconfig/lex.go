package sshconfig

import "strings"

// blanks separate words (readconf.c and misc.c of OpenSSH, as all of this file).
const blanks = " \t\r\n"

// delim takes the first word off s as strdelim(3) of OpenSSH does: it ends at a
// blank, at one = with blanks around it, or at the end of a quoted part. ok is
// false if a quote is not closed.
func delim(s string) (word, rest string, ok bool) {
	end := strings.IndexAny(s, blanks+`"=`)
	if end < 0 {
		return s, "", true
	}
	word, rest = s[:end], s[end+1:]
	if s[end] == '"' {
		quoted, after, closed := strings.Cut(rest, `"`)
		return word + quoted, strings.TrimLeft(after, blanks), closed
	}
	rest = strings.TrimLeft(rest, blanks)
	if s[end] != '=' {
		if after, found := strings.CutPrefix(rest, "="); found {
			rest = strings.TrimLeft(after, blanks)
		}
	}
	return word, rest, true
}

// splitLine splits a line into its keyword, in lower case, and the rest. The keyword is "" for an empty line, a
// comment, and a line whose first quote is not closed: ssh skips all of them.
func splitLine(line string) (keyword, rest string) {
	line, _, _ = strings.Cut(line, "\x00")
	line = strings.TrimRight(line, blanks+"\f")
	word, rest, ok := delim(line)
	if ok && word == "" {
		word, rest, ok = delim(rest)
	}
	if !ok || strings.HasPrefix(word, "#") {
		return "", ""
	}
	return lower(word), strings.TrimLeft(rest, blanks)
}

// lower changes ASCII letters only: a file has no encoding.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// splitWords takes arguments apart: blanks separate them, # begins a comment where
// a word would begin, quotes of both kinds keep blanks, and a backslash takes the
// meaning from a quote, a backslash, or outside of quotes a blank. ok is false if a
// quote is not closed.
func splitWords(s string) (words []string, ok bool) {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == '#' {
			return words, true
		}
		var word string
		if word, s, ok = firstWord(s); !ok {
			return nil, false
		}
		words = append(words, word)
	}
}

func firstWord(s string) (word, rest string, ok bool) {
	var text strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && escapes(s[i+1], quote):
			i++
			text.WriteByte(s[i])
		case quote == 0 && (c == ' ' || c == '\t'):
			return text.String(), s[i:], true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			text.WriteByte(c)
		}
	}
	return text.String(), "", quote == 0
}

func escapes(c, quote byte) bool {
	return c == '\'' || c == '"' || c == '\\' || c == ' ' && quote == 0
}
