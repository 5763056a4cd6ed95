package manual

import (
	"cmp"
	"fmt"
	"strings"
)

// Section returns the section of the man page: 1 for commands, 7 for topics.
func (p Page) Section() int {
	if p.Topic {
		return 7
	}
	return 1
}

// An Edition has the texts for the header and footer of man pages.
type Edition struct {
	Date    string // 2006-01-02; "" for none
	Version string
}

// Man is the page for man(1), in the macros of man(7), which groff and mandoc know.
func (p Page) Man(e Edition) string {
	m := &man{}
	m.line(`.TH "%s" "%d" "%s" "%s" "%s"`, roff(strings.ToUpper(p.Name())), p.Section(), e.Date,
		roff(strings.TrimSpace(p.command.Root().Name()+" "+e.Version)), roff(p.command.Root().Name()+" manual"))
	m.line(".nh") // a hyphen at the end of a line would be copied
	m.line(".ad l")
	m.section("NAME")
	m.line(`%s \- %s`, roff(p.Name()), roff(p.command.Short))
	if !p.Topic {
		m.section("SYNOPSIS")
		m.verbatim(p.usage())
	}
	m.section("DESCRIPTION")
	m.text(p.text())
	m.list("COMMANDS", p.commands())
	m.list("TOPICS", p.topics())
	m.flags(p)
	if p.command.Example != "" {
		m.section("EXAMPLES")
		m.text(p.command.Example)
	}
	m.seeAlso(p)
	return m.String()
}

// man is a page under way.
type man struct{ strings.Builder }

func (m *man) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *man) section(title string) { m.line(".SH %s", title) }

func (m *man) text(text string) {
	for i, b := range blocks(text) {
		if b.verbatim {
			m.line(".PP")
			m.line(".RS 4")
			m.verbatim(b.lines)
			m.line(".RE")
			continue
		}
		if i > 0 {
			m.line(".PP")
		}
		for _, line := range b.lines {
			m.line("%s", roff(line))
		}
	}
}

func (m *man) verbatim(lines []string) {
	m.line(".nf")
	for _, line := range lines {
		m.line("%s", cmp.Or(roff(line), `\&`))
	}
	m.line(".fi")
}

func (m *man) list(title string, pages []Page) {
	if len(pages) == 0 {
		return
	}
	m.section(title)
	for _, p := range pages {
		m.line(".TP")
		m.line("%s", p.reference())
		m.line("%s", roff(p.command.Short))
	}
}

// reference returns the name of this page for other pages.
func (p Page) reference() string { return fmt.Sprintf(`\fB%s\fR(%d)`, roff(p.Name()), p.Section()) }

func (m *man) flags(p Page) {
	for i, s := range p.flags() {
		if i == 0 {
			m.section("OPTIONS")
		}
		if s.title != "" {
			m.line(".SS %s", roff(s.title))
		}
		for _, f := range s.flags {
			m.flag(f)
		}
	}
}

func (m *man) flag(f flag) {
	m.line(".TP")
	var spellings []string
	for _, s := range f.spellings {
		spellings = append(spellings, `\fB`+roff(s)+`\fR`)
	}
	line := strings.Join(spellings, ", ")
	if f.value != "" {
		line += ` \fI` + roff(f.value) + `\fR`
	}
	m.line("%s", line)
	m.line("%s", roff(f.usage))
}

func (m *man) seeAlso(p Page) {
	if !p.command.HasParent() {
		return
	}
	m.section("SEE ALSO")
	parent := Page{command: p.command.Parent()}
	if p.Topic || parent.command.HasParent() {
		m.line("%s", parent.reference())
		return
	}
	m.line("%s, for the options of all commands", parent.reference())
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`, `"`, `\(dq`)

// roff is a text that means itself, also at the beginning of a line and in the argument of a
// macro. Without that, readers get typographic quotes and hyphens, which no shell takes.
func roff(text string) string {
	text = roffEscapes.Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
