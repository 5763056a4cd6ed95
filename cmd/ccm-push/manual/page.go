package manual

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is about one command, or one topic of help.
type Page struct {
	command *cobra.Command
	// Topic marks a page that describes no command.
	Topic bool
}

// Pages returns the pages of a program, of its commands and of its topics. Topics are commands that do nothing.
func Pages(root *cobra.Command) []Page {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return pages(root)
}

func pages(c *cobra.Command) []Page {
	list := []Page{{command: c, Topic: c.IsAdditionalHelpTopicCommand()}}
	for _, sub := range subcommands(c) {
		list = append(list, pages(sub)...)
	}
	return list
}

// subcommands returns the subcommands that have pages.
func subcommands(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool {
		return sub.Hidden || sub.Deprecated != "" || sub.Name() == "help"
	})
}

// Name returns the name of the page, in one word.
func (p Page) Name() string { return strings.ReplaceAll(p.command.CommandPath(), " ", "-") }

// commands and topics return the pages below the command.
func (p Page) commands() []Page { return p.below(false) }
func (p Page) topics() []Page   { return p.below(true) }

func (p Page) below(topics bool) []Page {
	var list []Page
	for _, sub := range subcommands(p.command) {
		if sub.IsAdditionalHelpTopicCommand() == topics {
			list = append(list, Page{command: sub, Topic: topics})
		}
	}
	return list
}

// usage has a line for each way to call the command.
func (p Page) usage() []string {
	var lines []string
	for line := range strings.Lines(p.command.UseLine()) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// text returns the prose of the page.
func (p Page) text() string {
	if p.command.Long != "" {
		return p.command.Long
	}
	return strings.ToUpper(p.command.Short[:1]) + p.command.Short[1:] + "."
}

// group is the annotation that holds the title of a flag's group.
const group = "group"

// GroupFlags puts the flags of a set that have no group yet into one.
func GroupFlags(set *pflag.FlagSet, title string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[group] == nil {
			_ = set.SetAnnotation(f.Name, group, []string{title}) // it fails only for an unknown flag
		}
	})
}

// A FlagGroup is a title and its flags.
type FlagGroup struct {
	Title string
	Flags []*pflag.Flag
}

// FlagGroups returns the groups of a set, in the order of their first flags. Flags without a group have an empty title.
func FlagGroups(set *pflag.FlagSet) []FlagGroup {
	var groups []FlagGroup
	set.VisitAll(func(f *pflag.Flag) {
		title := strings.Join(f.Annotations[group], "")
		i := slices.IndexFunc(groups, func(g FlagGroup) bool { return g.Title == title })
		if i < 0 {
			i, groups = len(groups), append(groups, FlagGroup{Title: title})
		}
		groups[i].Flags = append(groups[i].Flags, f)
	})
	return groups
}

// A flag is one as people write it.
type flag struct {
	spellings []string // -C, --check
	value     string   // value after the flag: FILE; empty for none
	usage     string
}

// A section is a group of flags on a page. A page without groups has one, without a title.
type section struct {
	title string
	flags []flag
}

// flags returns the flags of this command alone, in sections, in the order in which groups are registered.
func (p Page) flags() []section {
	p.command.InitDefaultHelpFlag()
	p.command.InitDefaultVersionFlag()
	var order []string
	for _, g := range FlagGroups(p.command.PersistentFlags()) {
		order = append(order, g.Title)
	}
	groups := FlagGroups(p.command.NonInheritedFlags())
	slices.SortStableFunc(groups, func(a, b FlagGroup) int { return slices.Index(order, a.Title) - slices.Index(order, b.Title) })
	var list []section
	for _, g := range groups {
		s := section{title: g.Title}
		for _, f := range g.Flags {
			if !f.Hidden && (f.Name != "help" || !p.command.HasParent()) {
				s.flags = append(s.flags, shown(f))
			}
		}
		if len(s.flags) > 0 {
			list = append(list, s)
		}
	}
	if len(list) > 1 && list[0].title == "" {
		list = append(list[1:], section{"Other", list[0].flags})
	}
	return list
}

func shown(f *pflag.Flag) flag {
	shown := flag{}
	shown.value, shown.usage = pflag.UnquoteUsage(f)
	if f.NoOptDefVal != "" {
		shown.value = ""
	}
	if f.Shorthand != "" {
		shown.spellings = append(shown.spellings, "-"+f.Shorthand)
	}
	shown.spellings = append(shown.spellings, "--"+f.Name)
	if hasDefault(f) {
		shown.usage += " (default " + f.DefValue + ")"
	}
	return shown
}

// hasDefault reports whether a flag has a default that is worth a word, and has not got it.
func hasDefault(f *pflag.Flag) bool {
	return !slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) && !strings.Contains(f.Usage, "(default")
}

// A block is a part of a text: a paragraph, or lines that are shown as they are.
type block struct {
	lines    []string
	verbatim bool
}

// blocks takes a text apart. Lines that are shown as they are lose the blanks that all of them
// begin with; empty ones between them belong to them.
func blocks(text string) []block {
	var list []block
	empty := 0
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if strings.TrimSpace(line) == "" {
			empty++
			continue
		}
		verbatim := line[0] == ' ' || line[0] == '\t'
		last := len(list) - 1
		if last >= 0 && list[last].verbatim == verbatim && (verbatim || empty == 0) {
			list[last].lines = append(list[last].lines, slices.Repeat([]string{""}, empty)...)
			list[last].lines = append(list[last].lines, line)
		} else {
			list = append(list, block{lines: []string{line}, verbatim: verbatim})
		}
		empty = 0
	}
	for _, b := range list {
		if b.verbatim {
			outdent(b.lines)
		}
	}
	return list
}

func outdent(lines []string) {
	margin := len(lines[0])
	for _, line := range lines {
		if line != "" {
			margin = min(margin, len(line)-len(strings.TrimLeft(line, " \t")))
		}
	}
	for i := range lines {
		lines[i] = lines[i][min(margin, len(lines[i])):]
	}
}
