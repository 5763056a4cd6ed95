package fromansible

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// An entry is one resource, a block, or a todo.
type entry struct {
	typ      string // of the resource; "" of a block and a todo
	name     string
	props    []property
	comments []string // above it

	block, rescue, always []*entry

	todo string // why a task is not carried over

	alias     string   // that it may have if others refer to it
	subscribe []*entry // whose changes refresh it
}

type property struct {
	key   string
	value *yaml.Node
}

// set gives a property, in place of one that is there.
func (e *entry) set(key string, value *yaml.Node) {
	for i := range e.props {
		if e.props[i].key == key {
			e.props[i].value = value
			return
		}
	}
	e.props = append(e.props, property{key, value})
}

func (e *entry) setText(key, value string) { e.set(key, textNode(value)) }

func (e *entry) get(key string) *yaml.Node {
	for _, p := range e.props {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

func (e *entry) drop(key string) {
	for i := range e.props {
		if e.props[i].key == key {
			e.props = append(e.props[:i], e.props[i+1:]...)
			return
		}
	}
}

func (e *entry) isBlock() bool { return e.block != nil }

// walk visits entries and all within them.
func walk(list []*entry, visit func(*entry)) {
	for _, e := range list {
		visit(e)
		walk(e.block, visit)
		walk(e.rescue, visit)
		walk(e.always, visit)
	}
}

// todoEntry is one for what is not carried over, with what was written as a comment.
func todoEntry(file string, line int, why string, source *yaml.Node) *entry {
	e := &entry{todo: position(file, line) + ": " + why}
	if source != nil {
		for _, l := range strings.Split(strings.TrimRight(string(encode(source)), "\n"), "\n") {
			e.comments = append(e.comments, "  "+l)
		}
	}
	return e
}
