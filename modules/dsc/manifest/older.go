package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// parseAlpha reads the dialect of the alpha releases. Unknown fields are ignored with a warning: they had more than was
// ever documented.
func parseAlpha(top map[string]json.RawMessage) (*Manifest, error) {
	m := &Manifest{Dialect: Alpha, CaseSensitive: true}
	m.unknown(top, "", "manifestVersion", "type", "version", "kind", "condition", "description", "tags", "metadata",
		"deprecationMessage", "get", "set", "test", "delete", "export", "validate", "schema", "adapter", "exitCodes")
	r := &reader{m: m, all: top}
	m.top(r)
	for _, o := range operations {
		if raw := top[o.name]; raw != nil && (o.name != "resolve" && o.name != "whatIf") {
			*o.field(m) = m.alphaOperation(r, o.name, o.also, raw)
		}
	}
	m.Schema = r.schema()
	m.Adapter = r.adapter()
	return m, r.err
}

// unknown adds a warning for each unknown field, which is then ignored.
func (m *Manifest) unknown(all map[string]json.RawMessage, at string, known ...string) {
	for _, key := range sorted(all) {
		if !slices.Contains(known, key) {
			m.warn("unknown field %q%s", key, in(at))
			delete(all, key)
		}
	}
}

// alphaOperation reads an operation of the alpha releases: preTest was the name of
// implementsPretest, and without a word the properties went to standard input.
func (m *Manifest) alphaOperation(r *reader, name string, also []string, raw json.RawMessage) *Operation {
	all, err := object(raw, name)
	if err != nil {
		r.fail(err)
		return nil
	}
	if all["implementsPretest"] == nil && all["preTest"] != nil {
		all["implementsPretest"] = all["preTest"]
	}
	delete(all, "preTest")
	again, err := json.Marshal(all)
	if err != nil {
		r.fail(err)
		return nil
	}
	inner := &reader{m: m, all: map[string]json.RawMessage{name: again}}
	o := inner.operation(name, also)
	r.fail(inner.err)
	if o != nil && name != "export" && !o.Takes() {
		o.Input = InputStdin
	}
	return o
}

// parseFirst reads the dialect of the first design.
func parseFirst(top map[string]json.RawMessage) (*Manifest, error) {
	m := &Manifest{Dialect: First, Kind: KindResource}
	m.unknown(top, "", "manifestVersion", "dscresource", "$schema", "description")
	all, err := object(top["dscresource"], "dscresource")
	if err != nil {
		return nil, err
	}
	m.unknown(all, "dscresource", "name", "version", "description", "get", "set", "test", "requires", "exitCodes", "schema")
	r := &reader{m: m, all: all, at: "dscresource"}
	r.text("name", &m.Type)
	r.text("version", &m.Version)
	r.get("requires", "a list of objects", &m.Requires)
	m.ExitCodes = r.exitCodes()
	m.Get = m.firstOperation(r, "get")
	m.Set = m.firstOperation(r, "set")
	m.Test = m.firstOperation(r, "test")
	if m.Set != nil { // passed on like any other property
		m.Set.HandlesExist = true
	}
	return m, r.err
}

// firstOperation reads an operation of the first design.
func (m *Manifest) firstOperation(r *reader, name string) *Operation {
	if r.all[name] == nil || r.err != nil {
		return nil
	}
	all, err := object(r.all[name], name)
	if err != nil {
		r.fail(err)
		return nil
	}
	inner := &reader{m: m, all: all, at: name}
	switch kind := inner.kind(); {
	case all["host"] != nil:
		r.fail(fmt.Errorf("%s is for a program that is called over gRPC, which is not supported", name))
		return nil
	case strings.HasPrefix(strings.ToLower(kind), "powershell"):
		r.fail(fmt.Errorf("%s is a %s, which is not supported: only executables are", name, kind))
		return nil
	}
	m.unknown(all, name, "executable", "args", "inputViaStdin", "inputAsArgs", "returnState", "caseSensitive", "type")
	if name == "test" {
		inner.flag("caseSensitive", &m.CaseSensitive)
		if all["executable"] == nil {
			r.fail(inner.err)
			return nil
		}
	}
	o := &Operation{Verdict: name == "test"}
	inner.program(o, name)
	var stdin, args, state bool
	inner.flag("inputViaStdin", &stdin)
	inner.flag("inputAsArgs", &args)
	inner.flag("returnState", &state)
	switch {
	case stdin && args:
		inner.fail(fmt.Errorf(`%q has both "inputViaStdin" and "inputAsArgs"`, name))
	case stdin:
		o.Input = InputStdin
	case args:
		o.Input = InputArgs
	}
	if state {
		o.Return = ReturnState
	}
	r.fail(inner.err)
	return o
}

// kind returns the type of executable that an operation of the first design names.
func (r *reader) kind() string {
	kind := ""
	r.text("type", &kind)
	return kind
}

// check checks the manifest that was read.
func (m *Manifest) check() error {
	switch {
	case m.Type == "":
		return errors.New("it has no type")
	case !isTypeName(m.Type) && (m.Dialect != First || !isName(m.Type)):
		return fmt.Errorf("type is %q, which is not of the form Owner/Thing", m.Type)
	case m.Version == "":
		return errors.New("it has no version")
	}
	for _, requires := range m.Requires {
		if requires.ResourceType != "executable" && requires.ResourceType != "OS" {
			return fmt.Errorf("requires names a %q, which is neither executable nor OS", requires.ResourceType)
		}
	}
	return m.checkVersion()
}

// isTypeName reports whether a text is of the form Owner.Area/Thing.
func isTypeName(s string) bool {
	owner, thing, ok := strings.Cut(s, "/")
	return ok && isName(owner) && isWord(thing)
}

// IsTypeName reports whether a text can be the type of a resource in DSC 3: words
// with dots between, a slash, a word.
func IsTypeName(s string) bool { return isTypeName(s) }

// isName reports whether a text is words with dots between.
func isName(s string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if !isWord(word) {
			return false
		}
	}
	return true
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
