package modtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// An Editor is a resource that keeps an entry in a text file, among lines of others. Texts may use $ROOT.
type Editor struct {
	Name    string
	File    string   // relative to the root; default: f
	Tree    []Node   // other files and folders of the root
	Put     string   // properties that keep the entry, in JSON
	Remove  string   // properties that keep it away; empty if the type removes nothing
	Entry   []string // its lines, as Put writes them
	Drifted []string // the entry with another value
	Off     string   // the entry as a comment
	Other   string   // a line of another entry
	Twice   Twice
	// Changes is set if Put changes an entry and adds none.
	Changes bool
	// Unix is set if the program that reads the file takes a byte order mark as text.
	Unix bool
	// LineFeed is set if that program also takes \r as text, and needs a line end after the last line.
	LineFeed bool
}

// Twice is the behavior of an editor if the file contains its entry twice.
type Twice int

// Possible values of [Twice].
const (
	Once    Twice = iota // the entry is at its first place only
	Each                 // both are changed
	Right                // the right one stays where it is, others go
	Refused              // Check fails
)

// mixed are line ends of a file whose comments have \n and whose other lines have \r\n.
const mixed = "mixed"

// ours is a comment.
const ours = "# of ours"

// A writtenLine is a line of a file, without and with its end.
type writtenLine struct{ text, ending string }

// edited is a file before and after.
type edited struct {
	name         string
	before, want [][]string // entries
	remove       bool
}

// Edits holds editors against one table. These are not editors of entries among lines of others, and so not in it: the definition of
// repository and the block of block are sections, to which following comments belong; /etc/hostname has one name and nothing
// else; and locale uncomments its line in /etc/locale.gen, and comments it out. Whatever line ends a file has, whether it begins with a byte order mark and
// ends with a line end, the entry is added, changed in its place and removed, and all other bytes stay.
func Edits(t *testing.T, typ modules.Type, editors ...Editor) {
	for _, e := range editors {
		for _, ending := range []string{"\n", "\r\n", mixed} {
			for _, mark := range []string{"", "\ufeff"} {
				for _, end := range []bool{true, false} {
					if !end && (ending == mixed || e.LineFeed && ending == "\r\n") {
						continue // the last line has no end that a new one could get
					}
					name := strings.NewReplacer("\n", `\n`, "\r", `\r`, "\ufeff", "mark").Replace(e.Name + " " + mark + " " + ending)
					if !end {
						name += " no end"
					}
					t.Run(name, func(t *testing.T) {
						for _, c := range e.cases() {
							t.Run(c.name, func(t *testing.T) { e.try(t, typ, c, ending, mark, end) })
						}
					})
				}
			}
		}
	}
}

// cases returns the table. An entry of the want side is e.Entry itself.
func (e *Editor) cases() []edited {
	comment, other, off := []string{ours}, []string{e.Other}, []string{e.Off}
	lines := func(all ...[]string) [][]string { return all }
	all := []edited{
		{"right, at the top", lines(e.Entry, comment, other), lines(e.Entry, comment, other), false},
		{"right, in the middle", lines(comment, e.Entry, other), lines(comment, e.Entry, other), false},
		{"right, at the end", lines(comment, other, e.Entry), lines(comment, other, e.Entry), false},
		{"another value at the top", lines(e.Drifted, other, comment), lines(e.Entry, other, comment), false},
		{"another value in the middle", lines(comment, e.Drifted, other), lines(comment, e.Entry, other), false},
		{"another value at the end", lines(other, comment, e.Drifted), lines(other, comment, e.Entry), false},
		{"another value, all of the file", lines(e.Drifted), lines(e.Entry), false},
	}
	switch e.Twice {
	case Once:
		all = append(all,
			edited{"twice", lines(comment, e.Entry, other, e.Drifted, comment), lines(comment, e.Entry, other, comment), false},
			edited{"twice, at the top", lines(e.Drifted, other, e.Entry), lines(e.Entry, other), false})
	case Right:
		all = append(all, edited{"twice", lines(e.Drifted, other, e.Entry, comment), lines(other, e.Entry, comment), false})
	case Each:
		all = append(all, edited{"twice", lines(e.Entry, other, e.Drifted, comment), lines(e.Entry, other, e.Entry, comment), false})
	case Refused:
		all = append(all, edited{"twice", lines(e.Entry, other, e.Drifted, comment), nil, false})
	}
	if !e.Changes {
		all = append(all,
			edited{"added", lines(comment, other), lines(comment, other, e.Entry), false},
			edited{"added to one line", lines(other), lines(other, e.Entry), false},
			edited{"added below a comment of it", lines(other, off), lines(other, off, e.Entry), false})
	}
	if e.Remove == "" {
		return all
	}
	all = append(all,
		edited{"removed at the top", lines(e.Entry, comment, other), lines(comment, other), true},
		edited{"removed in the middle", lines(comment, e.Drifted, other), lines(comment, other), true},
		edited{"removed at the end", lines(other, comment, e.Entry), lines(other, comment), true},
		edited{"removed, a comment of it", lines(other, off), lines(other, off), true},
		edited{"removed, not there", lines(comment, other), lines(comment, other), true})
	if e.Twice == Refused {
		return append(all, edited{"removed, twice", lines(e.Entry, other, e.Drifted, comment), nil, true})
	}
	return append(all, edited{"removed, twice", lines(e.Entry, other, e.Drifted, comment), lines(other, comment), true})
}

func (e *Editor) try(t *testing.T, typ modules.Type, c edited, ending, mark string, end bool) {
	properties := e.Put
	if c.remove {
		properties = e.Remove
	}
	root := Root(t)
	Build(t, root, e.Tree)
	file := filepath.Join(root, "f")
	if e.File != "" {
		file = filepath.Join(root, e.File)
	}
	before := e.before(c, ending, mark, end)
	require.NoError(t, os.WriteFile(file, []byte(before), 0o644))
	res := Decode(t, modules.Registry{typ}, typ.Name, properties, root)
	h := Host()
	plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
	if c.want == nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	want := e.after(c, ending, mark, end)
	require.Equal(t, before != want, plan.Pending(), "%q, then %q", before, want)
	if !plan.Pending() {
		return
	}
	require.NoError(t, res.Apply(t.Context(), h, plan))
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "%q", before)
	plan, err = modules.Compare(t.Context(), res, modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, plan, "a second Check finds something in %q", have)
}

// before returns the file as it is.
func (e *Editor) before(c edited, ending, mark string, end bool) string {
	var lines []writtenLine
	for _, entry := range c.before {
		for _, text := range entry {
			lines = append(lines, writtenLine{text, endOf(entry, ending)})
		}
	}
	return written(lines, mark, end)
}

// after returns the file as it becomes: the same, if all is right.
func (e *Editor) after(c edited, ending, mark string, end bool) string {
	is := func(entry []string) bool { return slices.Equal(entry, e.Entry) || slices.Equal(entry, e.Drifted) }
	added := !c.remove && !slices.ContainsFunc(c.before, is)
	changes := !slices.EqualFunc(c.before, c.want, slices.Equal)
	if len(c.before) == 1 && len(c.before[0]) == 1 && !end {
		ending = "\n" // of no line of the file
	}
	var lines []writtenLine
	for _, entry := range c.want {
		for _, text := range entry {
			line := writtenLine{text, endOf(entry, ending)}
			if e.LineFeed && is(entry) && (added || !strings.HasPrefix(text, "#")) {
				line.ending = "\n"
				changes = changes || ending != "\n"
			}
			lines = append(lines, line)
		}
	}
	if e.Unix && mark != "" && is(c.before[0]) {
		mark, changes = "", true
	}
	if !changes {
		return e.before(c, ending, mark, end)
	}
	return written(lines, mark, end || e.LineFeed)
}

// endOf returns the line end of the lines of an entry.
func endOf(entry []string, ending string) string {
	switch {
	case ending != mixed:
		return ending
	case entry[0] == ours:
		return "\n"
	}
	return "\r\n"
}

func written(lines []writtenLine, mark string, end bool) string {
	var b strings.Builder
	b.WriteString(mark)
	for i, line := range lines {
		b.WriteString(line.text)
		if end || i < len(lines)-1 {
			b.WriteString(line.ending)
		}
	}
	return b.String()
}
