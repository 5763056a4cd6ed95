package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Report is what became of the tasks.
type Report struct {
	Tasks   int
	Carried int
	Folded  int // tasks that are only for Windows, AIX, Solaris or HP-UX, in no other number
	Modules map[string]*Share
	Keyword map[string]*Share
	Left    []Remark // what was not carried over
	Notes   []Remark // what is different

	Again bool // a task is looked at again, and not counted
}

// A Share is how many of how many were carried over.
type Share struct{ Carried, All int }

// A Remark is about a place in what was read.
type Remark struct {
	File string
	Line int
	What string // the module or the keyword
	Why  string
}

// Position is a place as reports have it; of a file as a whole without a line.
func Position(file string, line int) string {
	if line < 1 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Count counts a task.
func (r *Report) Count(module string, keywords []string, carried bool) {
	if r.Again {
		return
	}
	add := func(m map[string]*Share, key string) {
		if m[key] == nil {
			m[key] = &Share{}
		}
		m[key].All++
		if carried {
			m[key].Carried++
		}
	}
	r.Tasks++
	if carried {
		r.Carried++
	}
	add(r.Modules, module)
	for _, key := range keywords {
		add(r.Keyword, key)
	}
}

// Uncount corrects the count of a task that became a todo after it had been counted as carried over.
func (r *Report) Uncount(module string) {
	r.Carried--
	if m := r.Modules[module]; m != nil {
		m.Carried--
	}
}

// CountBlock counts a block that is carried over.
func (r *Report) CountBlock() {
	if r.Keyword["block"] == nil {
		r.Keyword["block"] = &Share{}
	}
	r.Keyword["block"].All++
	r.Keyword["block"].Carried++
}

// Leave tells of what is not carried over.
func (r *Report) Leave(file string, line int, what, why string) {
	remark := Remark{file, line, what, why}
	if !slices.Contains(r.Left, remark) {
		r.Left = append(r.Left, remark)
	}
}

// Note tells of what is different.
func (r *Report) Note(file string, line int, why string) {
	remark := Remark{File: file, Line: line, Why: why}
	if !slices.Contains(r.Notes, remark) {
		r.Notes = append(r.Notes, remark)
	}
}

// Percent is the part of the tasks that were carried over, in percent.
func (r *Report) Percent() int {
	if r.Tasks == 0 {
		return 100
	}
	return r.Carried * 100 / r.Tasks
}

// Summary is the report in lines of text.
func (r *Report) Summary() string {
	var b strings.Builder
	for _, l := range r.Left {
		fmt.Fprintf(&b, "%s: %s\n", Position(l.File, l.Line), l.Why)
	}
	fmt.Fprintf(&b, "%d of %d tasks carried over (%d%%)", r.Carried, r.Tasks, r.Percent())
	if n := len(r.Left); n > 0 {
		fmt.Fprintf(&b, "; %s to write by hand", counted(n, "place"))
	}
	if n := len(r.Notes); n > 0 {
		fmt.Fprintf(&b, "; %s, which --report tells of", counted(n, "difference"))
	}
	if r.Folded > 0 {
		fmt.Fprintf(&b, "\n%s", r.folded())
	}
	return b.String() + "\n"
}

// folded is the sentence about the tasks that are not written.
func (r *Report) folded() string {
	if r.Folded == 1 {
		return "1 task is only for Windows, AIX, Solaris or HP-UX"
	}
	return fmt.Sprintf("%d tasks are only for Windows, AIX, Solaris or HP-UX", r.Folded)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Markdown is the report as a page.
func (r *Report) Markdown(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%d of %d tasks were carried over: %d%%.\n", title, r.Carried, r.Tasks, r.Percent())
	if r.Folded > 0 {
		fmt.Fprintf(&b, "\n%s: they are not written and not counted.\n", r.folded())
	}
	remarks := func(heading, text string, list []Remark) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| where | what |\n|---|---|\n", heading, text)
		for _, l := range list {
			fmt.Fprintf(&b, "| `%s` | %s |\n", Position(l.File, l.Line), Cell(l.Why))
		}
	}
	remarks("Not carried over", "Each stands in what was written as a `todo`, at its place, and `ccm-push validate` fails there.", r.Left)
	remarks("Different", "These were carried over, and do not do exactly the same.", r.Notes)
	table := func(heading string, counts map[string]*Share) {
		if len(counts) == 0 {
			return
		}
		keys := slices.Sorted(maps.Keys(counts))
		slices.SortStableFunc(keys, func(a, b string) int { return counts[b].All - counts[a].All })
		fmt.Fprintf(&b, "\n## %s\n\n| | carried over | of | share |\n|---|---|---|---|\n", heading)
		for _, key := range keys {
			n := counts[key]
			fmt.Fprintf(&b, "| `%s` | %d | %d | %d%% |\n", Cell(key), n.Carried, n.All, n.Carried*100/n.All)
		}
	}
	table("By module", r.Modules)
	table("By keyword", r.Keyword)
	return b.String()
}

// Cell is a text in a table of Markdown.
func Cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
