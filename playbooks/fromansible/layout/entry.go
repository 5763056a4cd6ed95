package layout

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// An Entry is one resource, a block, or a todo.
type Entry struct {
	Type     string // of the resource; "" of a block and a todo
	Name     string
	Props    []Property
	Comments []string // above it

	Block, Rescue, Always []*Entry

	Event string // verb of a service that acts when it is notified; "" of a state
	Plain string // place of a task without become, which writes a file or runs a command; "" of all others

	Todo string // why a task is not carried over
	Does *Entry // what it would be if it were; nil if that is not known
	Look *Look  // of what only looks at the host; nil of all else
	File string // of the task; "" of a block

	alias     string   // that it may have if others refer to it
	Subscribe []*Entry // whose changes refresh it
}

// A Look is what a task wants to know of a host, which might be asked for before the run.
type Look struct {
	Where   string // the place of the task
	Query   facts.Query
	InPlace bool // it cannot: what is beside the module keeps it from that
}

// Nothing is an entry that changes nothing on a host.
var Nothing = &Entry{}

// A Property is a key of a resource and its value.
type Property struct {
	Key   string
	Value *yaml.Node
}

// Set gives a property, in place of one that is there.
func (e *Entry) Set(key string, value *yaml.Node) {
	for i := range e.Props {
		if e.Props[i].Key == key {
			e.Props[i].Value = value
			return
		}
	}
	e.Props = append(e.Props, Property{key, value})
}

func (e *Entry) SetText(key, value string) { e.Set(key, yamlnode.Text(value)) }

func (e *Entry) Get(key string) *yaml.Node {
	for _, p := range e.Props {
		if p.Key == key {
			return p.Value
		}
	}
	return nil
}

func (e *Entry) Drop(key string) {
	for i := range e.Props {
		if e.Props[i].Key == key {
			e.Props = append(e.Props[:i], e.Props[i+1:]...)
			return
		}
	}
}

// Told reports whether a text, or anything of an entry that nothing of the host of a play may choose for another one, has
// what a host has sent: all but conditions, and the content of a file.
func (e *Entry) Told(text string, sent func(text string) bool) bool {
	parts := []string{text, e.Name}
	for _, p := range e.Props {
		if p.Key != "control" && (e.Type != "file" || p.Key != "content") {
			parts = append(parts, string(yamlnode.Encode(p.Value)))
		}
	}
	return sent(strings.Join(parts, " "))
}

func (e *Entry) IsBlock() bool { return e.Block != nil }

// Walk visits entries and all within them.
func Walk(list []*Entry, visit func(*Entry)) {
	for _, e := range list {
		visit(e)
		Walk(e.Block, visit)
		Walk(e.Rescue, visit)
		Walk(e.Always, visit)
	}
}

// Todo is one for what is not carried over, with what was written as a comment.
func Todo(where, why string, source *yaml.Node) *Entry {
	e := &Entry{Todo: where + ": " + why}
	if source != nil {
		for _, l := range strings.Split(strings.TrimRight(string(yamlnode.Encode(source)), "\n"), "\n") {
			e.Comments = append(e.Comments, "  "+l)
		}
	}
	return e
}
