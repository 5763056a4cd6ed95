package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/templates/jinja"
)

// A Var is a variable of a resource, with the expression of its value.
type Var struct{ Name, Text string }

// Needs returns the variables that a template needs apart from the data, the facts and the inventory: elements of loops, vars
// of tasks, and results. names are the names in its source, each with the keys below it.
func Needs(s *Scope, names [][]string) (vars []Var, err error) {
	paths := map[string][][]string{}
	for _, path := range names {
		paths[path[0]] = append(paths[path[0]], path[1:])
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		text, err := needed(s, name, paths[name])
		if err != nil {
			return nil, err
		}
		if text != "" {
			vars = append(vars, Var{name, text})
		}
	}
	return vars, nil
}

// needed returns the expression of a variable; empty if templates know it by its name.
func needed(s *Scope, name string, paths [][]string) (string, error) {
	w := &Writer{Scope: s}
	b, bound := w.Binding(name)
	plain := b.Result == nil && !b.Twin && !b.Pair && b.Only == nil
	switch {
	case bound && name == "item" && b.Text == "Item" && plain:
		return "", nil
	case bound && name == "item" && b.Expr == nil && (b.Result == nil || b.Result.Base == "Item"):
		return "", Unknown("the element of this loop in a template")
	case bound && b.Result != nil:
		return fieldsOf(s, name, paths)
	case bound:
		return valueOf(s, name)
	case name == "item", name == "ansible_managed", s.Files.Defines(name) && !s.Files.Optional(name):
		return "", nil
	case name == "hostvars":
		return "", ofOthers(s, paths)
	case magicNames[name].expr != "":
		return "", nil
	case name == "ansible_facts":
		for _, keys := range paths {
			if len(keys) == 0 {
				return "", Unknown("all facts in a template")
			}
			if err := knownFact(strings.TrimPrefix(keys[0], "ansible_"), keys[1:]); err != nil {
				return "", err
			}
		}
		return "", nil
	case strings.HasPrefix(name, "ansible_") && !notFact(name):
		for _, keys := range paths {
			if err := knownFact(strings.TrimPrefix(name, "ansible_"), keys); err != nil {
				return "", err
			}
		}
		return "", nil
	case gathered[name] != nil:
		return "", Unknown("the fact %s in a template", name)
	case s.Files.Optional(name):
		return "", Unknown("the variable %s in a template, which not all hosts have", name)
	}
	return valueOf(s, name)
}

// valueOf writes a variable; it is empty if the data has it by this name.
func valueOf(s *Scope, name string) (string, error) {
	t, err := (&Writer{Scope: s}).Write(&j2.Expr{Op: j2.Name, Text: name})
	switch itself := "Data." + name; {
	case err != nil:
		return "", err
	case t.Text == itself:
		return "", nil
	case WordIn(t.Text, itself):
		return "", Unknown("the variable %s in a template, which is made of itself", name)
	}
	return t.Text, nil
}

// WordIn reports whether a text contains a name, or a path of names, that is not part of a longer word.
func WordIn(text, name string) bool {
	for from := 0; ; from++ {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		from += at
		end := from + len(name)
		if (from == 0 || !IsWord("a"+text[from-1:from])) && (end == len(text) || !IsWord("a"+text[end:end+1])) {
			return true
		}
	}
}

// knownFact is an error if templates do not have a fact with these keys.
func knownFact(name string, keys []string) error {
	if !jinja.KnowsFact(name, keys) {
		return Unknown("the fact %s", strings.Join(append([]string{name}, keys...), "."))
	}
	return nil
}

// ofOthers is an error if a template reads what only facts or tasks of other hosts have.
func ofOthers(s *Scope, paths [][]string) error {
	w := &Writer{Scope: s}
	for _, keys := range paths {
		e := &j2.Expr{Op: j2.Name, Text: "hostvars"}
		if len(keys) < 2 || keys[1] == jinja.AnyKey {
			return Unknown("hostvars in a template, of which the variable is computed")
		}
		for _, key := range keys[:2] {
			e = &j2.Expr{Op: j2.Index, Args: []*j2.Expr{e, {Op: j2.Literal, Lit: key}}}
		}
		if _, err := w.ofHosts(e); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf writes the fields of a result that a template reads as a map.
func fieldsOf(s *Scope, name string, paths [][]string) (string, error) {
	w := &Writer{Scope: s}
	type field struct {
		keys []string
		text string
	}
	var fields []field
	slices.SortFunc(paths, slices.Compare)
	for _, keys := range paths {
		if slices.ContainsFunc(fields, func(f field) bool { return len(f.keys) <= len(keys) && slices.Equal(f.keys, keys[:len(f.keys)]) }) {
			continue
		}
		if len(keys) == 0 || keys[0] == "results" || keys[0] == jinja.AnyKey {
			return "", Unknown("the result %s as a whole in a template", name)
		}
		var first error
		for n := len(keys); n > 0; n-- { // the last may be a method, or an index
			e := &j2.Expr{Op: j2.Name, Text: name}
			for _, key := range keys[:n] {
				e = &j2.Expr{Op: j2.Attr, Text: key, Args: []*j2.Expr{e}}
			}
			t, err := w.Write(e)
			if err == nil {
				fields = append(fields, field{keys[:n], t.Text})
				first = nil
				break
			}
			if first == nil {
				first = err
			}
		}
		if first != nil {
			return "", first
		}
	}
	var write func(list []field, depth int) string
	write = func(list []field, depth int) string {
		var pairs []string
		for i := 0; i < len(list); {
			key, j := list[i].keys[depth], i
			for j < len(list) && list[j].keys[depth] == key {
				j++
			}
			text := list[i].text
			if len(list[i].keys) > depth+1 {
				text = write(list[i:j], depth+1)
			}
			pairs = append(pairs, QuoteText(key)+": "+text)
			i = j
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	return "(" + write(fields, 0) + ")", nil
}
