package yamlpos

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	lineOfError   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`) })
	unknownAnchor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown anchor '(.*)' referenced$`) })
)

// syntaxError rewords an error of yaml.v3, which has a line at best: none if it is the first, and often the line of the
// enclosing block.
func syntaxError(file string, data []byte, err error) *Error {
	e := &Error{File: file, Line: 1, Msg: err.Error()}
	if m := lineOfError().FindStringSubmatch(e.Msg); m != nil {
		e.Line = max(1, atoi(m[1]))
		e.Msg = m[2]
	}
	problem := e.Msg
	if strings.Contains(problem, "UTF-8") || strings.Contains(problem, "control characters") {
		e.Msg = "the file is not UTF-8 text: " + problem
		e.Line, e.Column = firstOddByte(data)
		e.Hint = "save the file as UTF-8 text"
		return e
	}
	if m := unknownAnchor().FindStringSubmatch(problem); m != nil {
		e.Msg = "no anchor &" + m[1] + " is defined before *" + m[1]
		if isSecretAlias(data, m[1]) {
			e.Msg = "an alias has no anchor before it (it is not shown: it may be a password)"
		}
		e.Line, e.Column = positionOf(data, bytes.Index(data, []byte("*"+m[1])))
		e.Hint = "quote a text that begins with *"
		return e
	}
	e.Line = lineOf(data, problem, e.Line)
	line := lineText(data, e.Line)
	if tab := tabInIndent(line); tab > 0 {
		e.Column, e.Msg, e.Hint = tab, "a tab is used for indentation", "indent with spaces"
		return e
	}
	e.Hint = hintFor(line, problem)
	return e
}

// isSecretAlias reports whether an alias is in a place where a password may be meant.
func isSecretAlias(data []byte, name string) bool {
	found, err := regexp.Match(secretKeys+`["']?\s*:\s*\*`+regexp.QuoteMeta(name), data)
	return found || err != nil
}

// hintFor looks for the usual cause of a problem in the line that has it.
func hintFor(line, problem string) string {
	_, value, found := strings.Cut(line, ": ")
	if !found {
		_, value, found = strings.Cut(line, "- ")
	}
	value = strings.TrimLeft(value, " ")
	switch {
	case found && strings.HasPrefix(value, "{{"):
		return `quote an expression: "{{ … }}"`
	case found && value != "" && strings.Contains("@`%&*!", value[:1]):
		return "quote a text that begins with " + value[:1]
	case strings.HasPrefix(problem, "did not find expected"):
		return "check the indentation of this line and the quotes and brackets before it"
	case strings.Contains(problem, "mapping values are not allowed"):
		return "quote a text that holds a colon and a blank, and check the indentation"
	case strings.Contains(problem, "end of stream"):
		return "a quote is opened and not closed"
	}
	return ""
}

// searchable is the size in bytes up to which [lineOf] parses a file again.
const searchable = 1 << 20

// lineOf finds the line with a problem: the last line of the shortest beginning of the file that has the problem.
// yaml.v3 itself reports only the beginning of the block around it.
func lineOf(data []byte, problem string, otherwise int) int {
	if len(data) > searchable {
		return otherwise
	}
	ends := lineEnds(data)
	without, with := 0, len(ends)
	for with-without > 1 {
		half := (without + with) / 2
		_, err := decodeAll(data[:ends[half-1]])
		if err != nil && strings.HasSuffix(err.Error(), problem) {
			with = half
		} else {
			without = half
		}
	}
	return max(1, with)
}

func lineEnds(data []byte) (ends []int) {
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		ends = append(ends, len(data))
	}
	return ends
}

// lineText returns a line, counted from 1.
func lineText(data []byte, number int) string {
	for text := range bytes.Lines(data) {
		if number--; number == 0 {
			return strings.TrimRight(string(text), "\r\n")
		}
	}
	return ""
}

// tabInIndent returns the column of a tab before the text of a line, or 0.
func tabInIndent(line string) int {
	blank := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	return strings.IndexByte(blank, '\t') + 1
}

// firstOddByte finds what makes a file no text.
func firstOddByte(data []byte) (line, column int) {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		control := r < ' ' && !strings.ContainsRune("\t\n\r", r) || r >= 0x7f && r < 0xa0 && r != 0x85
		if control || r == utf8.RuneError && size == 1 {
			return positionOf(data, i)
		}
		i += size
	}
	return 1, 0
}

// positionOf converts an offset into line and column; a negative offset is line 1.
func positionOf(data []byte, offset int) (line, column int) {
	if offset < 0 {
		return 1, 0
	}
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // "" is 0
	return n
}
