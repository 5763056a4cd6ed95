package ansible

import "strings"

// A Word is one word of a line.
type Word struct {
	Text   string
	Column int // bytes from the beginning of the line to the first of its source
	// ValueAt is where the source of what follows the first = begins, or -1.
	ValueAt int
}

// SplitWords splits a line as Python's shlex does, with which Ansible reads the
// host lines of INI inventories: quotes and backslashes as in a shell, and a #
// begins a comment wherever it stands outside quotes. cut is the offset of a # that
// ended a word, or -1. problem says what is wrong, and is "" if nothing is.
func SplitWords(line string) (words []Word, cut int, problem string) {
	var text strings.Builder
	cut = -1
	within := false // a word
	word := Word{}
	end := func() {
		if within {
			word.Text = text.String()
			words = append(words, word)
		}
		text.Reset()
		within = false
	}
	begin := func(i int) {
		if !within {
			within, word = true, Word{Column: i, ValueAt: -1}
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			end()
			continue
		case '#':
			if within {
				cut = i
			}
			end()
			return words, cut, ""
		}
		begin(i)
		switch c {
		case '\'', '"':
			stop := quoted(line, i, &text)
			if stop < 0 {
				return nil, -1, "a quote is opened and not closed"
			}
			i = stop
		case '\\':
			if i++; i == len(line) {
				return nil, -1, "a backslash stands at the end"
			}
			text.WriteByte(line[i])
		default:
			text.WriteByte(c)
			if c == '=' && word.ValueAt < 0 {
				word.ValueAt = i + 1
			}
		}
	}
	end()
	return words, cut, ""
}

// quoted writes what is between the quote at i and the next one to text, and
// gives the offset of that, or -1. A backslash escapes itself and the quote, in
// double quotes only.
func quoted(line string, i int, text *strings.Builder) int {
	quote := line[i]
	for i++; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			return i
		case c == '\\' && quote == '"' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			c = line[i]
		}
		text.WriteByte(c)
	}
	return -1
}
