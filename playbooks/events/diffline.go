package events

import (
	"iter"
	"strconv"
	"strings"
)

// A diffLine is a line of unified diffs, without its newline.
type diffLine struct {
	kind diffKind
	text string
}

type diffKind int

const (
	lineOther     diffKind = iota // reason for a missing or shortened diff
	lineOldName                   // "--- /etc/motd"
	lineNewName                   // "+++ /etc/motd"
	lineHunk                      // "@@ -1,3 +1,4 @@"
	lineKept                      // in a hunk, as the following kinds
	lineRemoved                   // "-hello"
	lineAdded                     // "+hello"
	lineNoNewline                 // "\ No newline at end of file"
)

// diffLines yields the lines of consecutive unified diffs.
func diffLines(diff string) iter.Seq[diffLine] {
	return func(yield func(diffLine) bool) {
		oldLeft, newLeft := 0, 0 // lines of the hunk that are still to come
		for text := range strings.Lines(diff) {
			line := diffLine{text: strings.TrimSuffix(text, "\n")}
			switch inHunk := oldLeft+newLeft > 0; {
			case inHunk && strings.HasPrefix(text, "+"):
				line.kind, newLeft = lineAdded, newLeft-1
			case inHunk && strings.HasPrefix(text, "-"):
				line.kind, oldLeft = lineRemoved, oldLeft-1
			case strings.HasPrefix(text, `\`):
				line.kind = lineNoNewline
			case inHunk && strings.HasPrefix(text, " "):
				line.kind, oldLeft, newLeft = lineKept, oldLeft-1, newLeft-1
			case strings.HasPrefix(text, "--- "):
				line.kind = lineOldName
			case strings.HasPrefix(text, "+++ "):
				line.kind = lineNewName
			case strings.HasPrefix(text, "@@ "):
				line.kind = lineHunk
				oldLeft, newLeft = hunk(text)
			}
			if !yield(line) {
				return
			}
		}
	}
}

func (l diffLine) color() color {
	switch l.kind {
	case lineOldName, lineNewName:
		return bold
	case lineHunk:
		return cyan
	case lineAdded:
		return green
	case lineRemoved:
		return red
	}
	return plain
}

// hunk reads how many lines follow "@@ -1,3 +1,4 @@".
func hunk(line string) (of, to int) {
	count := func(span string) int {
		_, n, found := strings.Cut(span, ",")
		if !found {
			return 1
		}
		lines, _ := strconv.Atoi(n)
		return max(0, lines)
	}
	if words := strings.Fields(line); len(words) > 2 {
		return count(words[1]), count(words[2])
	}
	return 0, 0
}
