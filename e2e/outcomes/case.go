package outcomes

import (
	"fmt"
	"strings"
)

// Where hosts keep what a case writes. All of it is removed between cases.
const (
	Folder = "/srv/outcomes"
	Log    = Folder + "/log"   // what commands wrote down
	Tree   = Folder + "/tree"  // the files of the case
	Marks  = Folder + "/marks" // what commands with creates make
	Do     = Folder + "/do"    // the command of every exec
)

// DoScript is the text of [Do]: do NAME HOST SECONDS STATUS [MARK]. It writes down its beginning and its end.
const DoScript = `#!/bin/sh
echo "B $1 $2 $$ $(date +%s%N)" >>` + Log + `
[ "$3" = 0 ] || sleep "$3"
[ -z "$5" ] || : >"` + Marks + `/$5"
echo "$1 $2"
echo "E $1 $2 $$ $(date +%s%N) $4" >>` + Log + `
exit "$4"
`

// Controller is the name of the machine where ccm-push runs.
const Controller = "controller"

// A Case is one seed: plays, and the calls of ccm-push with the faults that strike in each.
type Case struct {
	Seed  uint64   `json:"seed"`
	Hosts []string `json:"hosts"`
	Plays []Play   `json:"plays"`
	Calls []Call   `json:"calls"`
}

// A Call is one call of ccm-push. The first one of a case runs the manifest.
type Call struct {
	Do     string   `json:"do"` // run, resume or undo
	Args   []string `json:"args,omitempty"`
	Faults []Fault  `json:"faults,omitempty"`
}

// A Play is a play of the manifest.
type Play struct {
	Name        string   `json:"name"`
	Hosts       []string `json:"hosts"`
	Graph       bool     `json:"graph,omitempty"`
	Serial      int      `json:"serial,omitempty"`      // 0 means all hosts at once
	Unavailable int      `json:"unavailable,omitempty"` // max_unavailable of its rollout; 0 means it has no rollout
	FailOnError bool     `json:"fail_on_error,omitempty"`
	Items       []Item   `json:"items"`
}

// An Item is a resource or a block.
type Item struct {
	*Resource
	Block *Block `json:"block,omitempty"`
}

// A Block is a block of resources.
type Block struct {
	Name   string     `json:"name"`
	Main   []Resource `json:"main"`
	Rescue []Resource `json:"rescue,omitempty"`
	Always []Resource `json:"always,omitempty"`
}

// A Kind is the kind of a resource.
type Kind string

// The kinds of resources.
const (
	Exec   Kind = "exec"
	File   Kind = "file"   // its content is its name and its host
	Absent Kind = "absent" // a file that was there
	Line   Kind = "line"   // a line in the file shared.txt, which was there
)

// A Resource is one of a play. Its name is unique in the case.
type Resource struct {
	Kind        Kind     `json:"kind"`
	Name        string   `json:"name"`
	Millis      int      `json:"millis,omitempty"` // how long the command takes
	Fails       bool     `json:"fails,omitempty"`  // the command ends with status 1
	Creates     bool     `json:"creates,omitempty"`
	RefreshOnly bool     `json:"refreshonly,omitempty"`
	Rerun       bool     `json:"rerun,omitempty"`
	Once        bool     `json:"once,omitempty"`
	On          string   `json:"on,omitempty"`
	Sema        string   `json:"sema,omitempty"`
	Slots       int      `json:"slots,omitempty"`
	Timeout     int      `json:"timeout,omitempty"` // seconds
	Require     []string `json:"require,omitempty"` // names of resources
	Subscribe   string   `json:"subscribe,omitempty"`
	Each        int      `json:"each,omitempty"`     // how many of them there are; 0 means it has no each
	Register    bool     `json:"register,omitempty"` // its result has its name
	Uses        string   `json:"uses,omitempty"`     // the registered result that is its content
	Existed     bool     `json:"existed,omitempty"`  // the file was there before, with another content
}

// Path is the path of a file, a mark or the file that has the line; empty if there is none.
func (r *Resource) Path() string {
	switch {
	case r.Kind == Line:
		return Tree + "/shared.txt"
	case r.Kind != Exec:
		return Tree + "/" + r.Name
	}
	return ""
}

// Title returns the name of the resource in events.
func (r *Resource) Title() string {
	if r.Kind == File || r.Kind == Absent {
		return r.Path()
	}
	return r.Name
}

// reference is how others refer to the resource.
func (r *Resource) reference() string {
	switch r.Kind {
	case Exec:
		return "exec#" + r.Name
	case Line:
		return "line#" + r.Name
	}
	return "file#" + r.Path()
}

// guarded reports whether the command may run again by itself.
func (r *Resource) guarded() bool { return r.Creates || r.RefreshOnly || r.Rerun }

// names returns the names of the elements of each, or the name.
func (r *Resource) names() []string {
	if r.Each == 0 {
		return []string{r.Name}
	}
	var all []string
	for i := range r.Each {
		all = append(all, fmt.Sprintf("%s-%d", r.Name, i+1))
	}
	return all
}

// A placed resource is one with its place in the play.
type placed struct {
	*Resource
	play  *Play
	index int    // of the play, from 0
	order int    // in the play, as written
	block *Block // nil outside of blocks
	part  string // main, rescue or always
}

// resources returns those of all plays, as written.
func (c *Case) resources() []placed {
	var all []placed
	for n := range c.Plays {
		p, order := &c.Plays[n], 0
		add := func(r *Resource, b *Block, part string) {
			all = append(all, placed{r, p, n, order, b, part})
			order++
		}
		for i := range p.Items {
			item := &p.Items[i]
			if item.Block == nil {
				add(item.Resource, nil, "")
				continue
			}
			for part, list := range item.Block.parts() {
				for k := range list {
					add(&list[k], item.Block, part)
				}
			}
		}
	}
	return all
}

// Before returns the files that hosts have before the first call: their paths and texts.
func (c *Case) Before() map[string]string {
	files := map[string]string{Tree + "/shared.txt": "first\nlast\n"}
	for _, r := range c.resources() {
		if r.Existed {
			files[r.Path()] = "old " + r.Name + "\n"
		}
	}
	return files
}

// parts yields the parts of a block with their resources.
func (b *Block) parts() func(func(string, []Resource) bool) {
	return func(yield func(string, []Resource) bool) {
		_ = yield("block", b.Main) && yield("rescue", b.Rescue) && yield("always", b.Always)
	}
}

// Manifest is the manifest of the case.
func (c *Case) Manifest() string {
	byName := map[string]*Resource{}
	for _, r := range c.resources() {
		byName[r.Name] = r.Resource
	}
	var b strings.Builder
	for _, p := range c.Plays {
		fmt.Fprintf(&b, "- name: %s\n  hosts: %s\n  confirm: never\n", p.Name, strings.Join(p.Hosts, ","))
		if p.Graph {
			b.WriteString("  strategy: graph\n")
		}
		if p.Serial > 0 {
			fmt.Fprintf(&b, "  serial: %d\n  max_fail_percentage: 100\n", p.Serial)
		}
		if p.Unavailable > 0 {
			fmt.Fprintf(&b, "  rollout: {batches: [1, rest], max_unavailable: %d, on_stop: end}\n", p.Unavailable)
		}
		b.WriteString("  ccm:\n")
		if p.FailOnError {
			b.WriteString("    fail_on_error: true\n")
		}
		b.WriteString("    resources:\n")
		for _, item := range p.Items {
			if item.Block == nil {
				item.write(&b, "      ", byName)
				continue
			}
			fmt.Fprintf(&b, "      - name: %s\n", item.Block.Name)
			for part, list := range item.Block.parts() {
				if len(list) > 0 {
					fmt.Fprintf(&b, "        %s:\n", part)
				}
				for i := range list {
					list[i].write(&b, "          ", byName)
				}
			}
		}
	}
	return b.String()
}

// write writes the resource as an item of a list.
func (r *Resource) write(b *strings.Builder, indent string, byName map[string]*Resource) {
	var keys []string
	add := func(format string, args ...any) { keys = append(keys, fmt.Sprintf(format, args...)) }
	kind, title, item := string(r.Kind), r.Title(), r.Name
	if r.Each > 0 {
		var items []string
		for i := range r.Each {
			items = append(items, fmt.Sprint(i+1))
		}
		item += "-{{ Item }}"
		title = item
		add("alias: %s, each: [%s]", r.Name, strings.Join(items, ", "))
	}
	switch r.Kind {
	case Exec:
		status := 0
		if r.Fails {
			status = 1
		}
		mark := ""
		if r.Creates {
			mark = " " + item
			add("creates: %q", Marks+"/"+item)
		}
		add("command: %q", fmt.Sprintf("%s %s {{ Host.name }} %g %d%s", Do, item, float64(r.Millis)/1000, status, mark))
	case File:
		content := r.Name + " {{ Host.name }}\n"
		if r.Uses != "" {
			content = "{{ Results." + r.Uses + ".stdout_trimmed }}\n"
		}
		add("owner: root, group: root, mode: %q, content: %q", "0644", content)
	case Absent:
		kind = "file"
		add("ensure: absent")
	case Line:
		add("path: %q, line: %q", r.Path(), "line "+r.Name)
	}
	for _, key := range []struct {
		name string
		set  bool
	}{{"refreshonly", r.RefreshOnly}, {"rerun", r.Rerun}, {"once", r.Once}} {
		if key.set {
			add("%s: true", key.name)
		}
	}
	if r.On != "" {
		add("on: %s", r.On)
	}
	if r.Timeout > 0 {
		add("timeout: %ds", r.Timeout)
	}
	if r.Sema != "" {
		add("sema: [%q]", fmt.Sprintf("%s:%d", r.Sema, r.Slots))
	}
	if len(r.Require) > 0 {
		var all []string
		for _, name := range r.Require {
			all = append(all, fmt.Sprintf("%q", byName[name].reference()))
		}
		add("require: [%s]", strings.Join(all, ", "))
	}
	if r.Subscribe != "" {
		add("subscribe: [%q]", byName[r.Subscribe].reference())
	}
	if r.Register {
		add("register: %s", r.Name)
	}
	fmt.Fprintf(b, "%s- %s: [{%q: {%s}}]\n", indent, kind, title, strings.Join(keys, ", "))
}
