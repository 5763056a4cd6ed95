package events

import (
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// marked is the attribute of the words in which a changed line differs from the line that it replaces, in addition to
// the line's colour: reverse.
const marked color = ";7"

// diff adds unified diffs, each line after a prefix. In colour, if lines replace the same number of lines one by one,
// the differing words are marked.
func (p *page) diff(prefix, text string) {
	var all []diffLine
	for line := range diffLines(Block(text)) {
		all = append(all, line)
	}
	words := map[int][]string{} // parts of a line by its index: shared and differing words in turns
	if p.colors {
		for _, pair := range replaced(all) {
			had, has := changedWords(all[pair.old].text[1:], all[pair.by].text[1:])
			if had != nil {
				had[0], has[0] = "-"+had[0], "+"+has[0]
				words[pair.old], words[pair.by] = had, has
			}
		}
	}
	for i, line := range all {
		p.b.WriteString(prefix)
		c := line.color()
		parts, some := words[i]
		if !some {
			parts = []string{line.text}
		}
		for n, part := range parts {
			p.paint(c+[]color{"", marked}[n%2], part)
		}
		p.newline()
	}
}

// A replacement is two lines of a diff by their index.
type replacement struct{ old, by int }

// replaced pairs removed lines with the added lines that follow them, if their numbers are equal.
func replaced(all []diffLine) (pairs []replacement) {
	var removed, added []int
	end := func() {
		if len(removed) == len(added) {
			for i := range removed {
				pairs = append(pairs, replacement{removed[i], added[i]})
			}
		}
		removed, added = nil, nil
	}
	for i, line := range all {
		switch {
		case line.kind == lineRemoved && len(added) == 0:
			removed = append(removed, i)
		case line.kind == lineAdded:
			added = append(added, i)
		case line.kind == lineRemoved:
			end()
			removed = append(removed, i)
		case line.kind != lineNoNewline:
			end()
		}
	}
	end()
	return pairs
}

// changedWords splits two lines into shared and differing parts, in turns. The first part is shared. had and has are
// nil if the lines share no word: then the whole line has changed.
func changedWords(old, other string) (had, has []string) {
	a, b := wordsOf(old), wordsOf(other)
	var shared bool
	from, to := 0, 0
	keep := func(until, after int) {
		same := strings.Join(a[from:until], "")
		shared = shared || strings.ContainsFunc(same, inName)
		had, has = append(had, same), append(has, strings.Join(b[to:after], ""))
	}
	for _, d := range lcs.DiffLines(a, b) {
		keep(d.Start, d.ReplStart)
		had = append(had, strings.Join(a[d.Start:d.End], ""))
		has = append(has, strings.Join(b[d.ReplStart:d.ReplEnd], ""))
		from, to = d.End, d.ReplEnd
	}
	keep(len(a), len(b))
	if !shared {
		return nil, nil
	}
	return had, has
}

// wordsOf splits a line into words and the text between them. A host's name or address is one word: when outcomes are
// folded, they are searched in the shown text.
func wordsOf(line string) []string {
	var list []string
	start, before := 0, false
	for i, r := range line {
		in := inName(r) || strings.ContainsRune("-.:", r)
		if i > 0 && !(in && before) {
			list = append(list, line[start:i])
			start = i
		}
		before = in
	}
	return append(list, line[start:])
}

func inName(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
