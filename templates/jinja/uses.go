package jinja

import (
	"slices"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Uses has the variables and templates that the source of a template names.
type Uses struct {
	Variables [][]string // names, each with the keys below it; AnyKey is a computed key
	Templates []string   // that it includes, imports, extends or looks up
}

// AnyKey stands for a computed key in [Uses].
const AnyKey = anyKey

// UsesOf returns what a template names, without the templates that it includes. All errors are [diag.Error].
func UsesOf(text string, pos diag.Position) (*Uses, error) {
	p, err := (&loader{main: pos.File, known: map[string]*program{}}).load(text, pos, ansibleSyntax())
	if err != nil {
		return nil, diag.At(pos, err)
	}
	u := &Uses{}
	for _, n := range p.body {
		n.each(func(part *node) { u.Templates = append(u.Templates, part.templates()...) })
	}
	a := &analysis{seen: map[*program]bool{}, roots: true, note: func(name string, keys []string) {
		if globals[name] == nil || len(keys) > 0 {
			u.Variables = append(u.Variables, append([]string{name}, keys...))
		}
	}}
	a.program(p, &static{})
	slices.SortFunc(u.Variables, slices.Compare)
	u.Variables = slices.CompactFunc(u.Variables, slices.Equal)
	return u, nil
}

// KnowsFact reports whether templates have a fact of Ansible, with keys below it; name is without ansible_.
func KnowsFact(name string, keys []string) bool {
	if known := partialFacts[name]; known != nil && (len(keys) == 0 || !known[keys[0]]) {
		return false
	}
	_, ok := facts[name]
	return ok
}
