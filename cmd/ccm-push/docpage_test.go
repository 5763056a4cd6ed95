package main

import (
	"regexp"
	"strings"
)

// A docSection is the text below one heading of a page.
type docSection struct {
	title  string
	blocks []docBlock
	tables []docTable
}

// A docBlock is a fenced block. Its label is the name of a file: the text in backticks at the end of the paragraph
// before it, if that ends with a colon.
type docBlock struct {
	lang, label, text string
	line              int // line of the opening fence, from 1
}

// A docTable lists expressions or templates, each with its result.
type docTable struct {
	language string // the head of its first column
	rows     [][2]string
	line     int // line of the head
}

var (
	docHeading = regexp.MustCompile(`^#{1,4} (.*)$`)
	docFence   = regexp.MustCompile("^```([a-z]*)$")
	docLabel   = regexp.MustCompile("`([^`\\s]+)`:$")
	docCells   = regexp.MustCompile(`^\| (.+?) \| (.+?) \|$`)
)

// parseDocPage reads the sections of a page.
func parseDocPage(text string) []docSection {
	p := &docParser{sections: []docSection{{}}}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case docFence.MatchString(line):
			i = p.block(lines, i)
		case docHeading.MatchString(line):
			p.sections = append(p.sections, docSection{title: docHeading.FindStringSubmatch(line)[1]})
			p.words = ""
		case strings.HasPrefix(line, "|"):
			p.row(line, i+1)
		case line == "":
			p.table = false
		default:
			p.words, p.table = line, false
		}
	}
	return p.sections
}

type docParser struct {
	sections []docSection
	words    string // the last line of prose since the last block
	table    bool   // the last line belongs to a table of results
}

func (p *docParser) section() *docSection { return &p.sections[len(p.sections)-1] }

// block reads a fenced block and returns the index of its last line.
func (p *docParser) block(lines []string, open int) (end int) {
	for end = open + 1; end < len(lines) && lines[end] != "```"; {
		end++
	}
	b := docBlock{lang: docFence.FindStringSubmatch(lines[open])[1], line: open + 1}
	b.text = strings.Join(lines[open+1:end], "\n") + "\n"
	if label := docLabel.FindStringSubmatch(p.words); label != nil {
		b.label = label[1]
	}
	p.section().blocks = append(p.section().blocks, b)
	p.words, p.table = "", false
	return end
}

// row reads a line of a table; it ignores tables without results.
func (p *docParser) row(line string, number int) {
	cells := docCells.FindStringSubmatch(line)
	s := p.section()
	switch {
	case cells == nil:
	case cells[2] == "gives":
		s.tables = append(s.tables, docTable{language: cells[1], line: number})
		p.table = true
	case p.table:
		t := &s.tables[len(s.tables)-1]
		t.rows = append(t.rows, [2]string{docCode(cells[1]), docCode(cells[2])})
	}
}

// docCode is the text of a cell that is code.
func docCode(cell string) string {
	text := strings.ReplaceAll(cell, `\|`, "|")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "``"), "``")
	return strings.TrimSpace(strings.Trim(text, "`"))
}
