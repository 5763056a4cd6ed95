package manual

import (
	"fmt"
	"strings"
)

// Markdown returns the page for docs/reference, with links to pages in the same folder.
func (p Page) Markdown() string {
	var b strings.Builder
	title := p.command.CommandPath()
	if p.Topic {
		title = strings.TrimSpace(p.command.Root().Name() + " help " + p.command.Name())
	}
	fmt.Fprintf(&b, "# %s\n\n<!-- Made of the program by `make reference`. -->\n", title)
	if !p.Topic {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.Join(p.usage(), "\n"))
	}
	for _, part := range blocks(p.text()) {
		if part.verbatim {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.Join(part.lines, "\n"))
		} else {
			fmt.Fprintf(&b, "\n%s\n", markdown(strings.Join(part.lines, "\n")))
		}
	}
	links(&b, "Commands", p.commands())
	links(&b, "Topics", p.topics())
	for i, s := range p.flags() {
		if i == 0 {
			b.WriteString("\n## Flags\n")
		}
		if s.title != "" {
			fmt.Fprintf(&b, "\n### %s\n", s.title)
		}
		b.WriteString("\n| flag | |\n|---|---|\n")
		for _, f := range s.flags {
			words := strings.TrimSpace("`" + strings.Join(f.spellings, "`, `") + "` " + markdown(f.value))
			fmt.Fprintf(&b, "| %s | %s |\n", words, markdown(f.usage))
		}
	}
	if p.command.Example != "" {
		b.WriteString("\n## Examples\n\n```sh\n")
		for _, part := range blocks(p.command.Example) {
			b.WriteString(strings.Join(part.lines, "\n") + "\n")
		}
		b.WriteString("```\n")
	}
	if p.command.HasParent() {
		parent := Page{command: p.command.Parent()}
		fmt.Fprintf(&b, "\nSee also [%s](%s.md)", parent.command.CommandPath(), parent.Name())
		if !p.Topic && !parent.command.HasParent() {
			b.WriteString(", for the flags of all commands")
		}
		b.WriteString(".\n")
	}
	return b.String()
}

func links(b *strings.Builder, title string, pages []Page) {
	if len(pages) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| | |\n|---|---|\n", title)
	for _, p := range pages {
		fmt.Fprintf(b, "| [%s](%s.md) | %s |\n", p.command.Name(), p.Name(), markdown(p.command.Short))
	}
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `<`, `\<`, `[`, `\[`, `|`, `\|`, `~`, `\~`, `$`, `\$`)

// markdown is a text that means itself.
func markdown(text string) string { return markdownEscapes.Replace(text) }
