package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// operations are the fields that are operations, with the additional fields that each may have.
var operations = []struct {
	name  string
	field func(*Manifest) **Operation
	also  []string
}{
	{"get", func(m *Manifest) **Operation { return &m.Get }, nil},
	{"set", func(m *Manifest) **Operation { return &m.Set }, setFields},
	{"test", func(m *Manifest) **Operation { return &m.Test }, []string{"return"}},
	{"delete", func(m *Manifest) **Operation { return &m.Delete }, []string{"return", "whatIfReturns"}},
	{"export", func(m *Manifest) **Operation { return &m.Export }, []string{"supportsFiltering", "schema"}},
	{"validate", func(m *Manifest) **Operation { return &m.Validate }, nil},
	{"resolve", func(m *Manifest) **Operation { return &m.Resolve }, nil},
	{"whatIf", func(m *Manifest) **Operation { return &m.WhatIf }, setFields},
}

// Operation returns an operation by its name, or nil.
func (m *Manifest) Operation(name string) *Operation {
	for _, o := range operations {
		if o.name == name {
			return *o.field(m)
		}
	}
	return nil
}

var setFields = []string{"implementsPretest", "handlesExist", "return", "whatIfReturns"}

var commonFields = []string{"executable", "args", "input", "requireSecurityContext"}

// parseCurrent reads the dialect of DSC 3. As there, unknown fields at the top are
// refused, and those further in do not keep a resource from being used.
func parseCurrent(doc json.RawMessage) (*Manifest, error) {
	all, err := fields(doc, "", "$schema", "type", "version", "kind", "condition", "description", "tags", "metadata",
		"deprecationMessage", "get", "set", "test", "delete", "export", "validate", "resolve", "whatIf", "schema",
		"adapter", "exitCodes")
	if err != nil {
		return nil, err
	}
	m := &Manifest{Dialect: Current, CaseSensitive: true}
	r := &reader{m: m, all: all}
	m.schemaURI(r, "resource/manifest")
	m.top(r)
	for _, o := range operations {
		*o.field(m) = r.operation(o.name, o.also)
	}
	m.Schema = r.schema()
	m.Adapter = r.adapter()
	return m, r.err
}

// schemaURIs are the places where the schemas of DSC are published.
var schemaURIs = []string{
	"https://aka.ms/dsc/schemas/",
	"https://raw.githubusercontent.com/PowerShell/DSC/main/schemas/",
}

// schemaURI checks $schema. It is never fetched.
func (m *Manifest) schemaURI(r *reader, what string) {
	uri := ""
	r.text("$schema", &uri)
	stem := strings.TrimSuffix(strings.TrimSuffix(uri, ".json"), ".vscode")
	for _, known := range schemaURIs {
		if strings.HasPrefix(uri, known) && strings.HasSuffix(strings.ToLower(stem), what) {
			return
		}
	}
	m.warn("$schema is %q, which is not the schema of a DSC manifest", uri)
}

func (m *Manifest) warn(format string, args ...any) {
	m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...))
}

// top reads the fields that are the same in the first two dialects.
func (m *Manifest) top(r *reader) {
	r.text("type", &m.Type)
	r.text("version", &m.Version)
	r.oneOf("kind", &m.Kind, KindResource, KindAdapter, KindGroup, KindImporter, KindExporter)
	r.text("condition", &m.Condition)
	r.text("deprecationMessage", &m.Deprecation)
	m.ExitCodes = r.exitCodes()
	if m.Kind == "" {
		m.Kind = KindResource
		if r.all["adapter"] != nil {
			m.Kind = KindAdapter
		}
	}
}

// operation reads one operation; nil if it is not there.
func (r *reader) operation(name string, also []string) *Operation {
	inner := r.inner(name, name, append(also[:len(also):len(also)], commonFields...)...)
	if inner == nil {
		return nil
	}
	o := &Operation{}
	inner.program(o, name)
	inner.oneOf("input", &o.Input, InputStdin, InputEnv)
	inner.oneOf("requireSecurityContext", &o.Security, SecurityCurrent, SecurityElevated, SecurityRestricted)
	inner.oneOf("return", &o.Return, ReturnState, ReturnStateAndDiff)
	inner.oneOf("whatIfReturns", &o.WhatIfReturns, ReturnState, ReturnStateAndDiff)
	inner.flag("implementsPretest", &o.ImplementsPretest)
	inner.flag("handlesExist", &o.HandlesExist)
	filtering := true
	inner.flag("supportsFiltering", &filtering)
	o.NoFiltering = !filtering
	o.FilterSchema = inner.schema()
	r.fail(inner.err)
	return o
}

// program reads the executable and its arguments.
func (r *reader) program(o *Operation, name string) {
	r.text("executable", &o.Executable)
	if r.err == nil && (o.Executable == "" || strings.ContainsRune(o.Executable, 0)) {
		r.fail(fmt.Errorf(`%q has no "executable"`, name))
	}
	raw := []json.RawMessage{}
	r.get("args", "a list", &raw)
	for i, item := range raw {
		var a Arg
		err := json.Unmarshal(item, &a)
		if err == nil {
			err = a.check(name)
		}
		at := fmt.Sprintf("args[%d]%s", i, in(r.at))
		if err != nil {
			r.fail(fmt.Errorf("%s: %w", at, err))
			return
		}
		for _, key := range a.unknown {
			r.m.warn("unknown field %q in %s", key, at)
		}
		a.unknown = nil
		o.Args = append(o.Args, a)
	}
}

// schema reads a schema that is embedded or printed by a command.
func (r *reader) schema() *Schema {
	inner := r.inner("schema", "schema", "embedded", "command")
	if inner == nil {
		return nil
	}
	s := &Schema{Embedded: inner.all["embedded"]}
	if inner.all["command"] != nil {
		s.Command = inner.command("command", "schema")
	}
	r.fail(inner.err)
	if r.err == nil && (s.Embedded == nil) == (s.Command == nil) {
		r.fail(fmt.Errorf("schema must have either embedded or command"))
	}
	return s
}

// adaptedSchema reads the schema of an adapted resource, which may be written like other schemas or be the value
// itself.
func (r *reader) adaptedSchema() *Schema {
	raw := json.RawMessage{}
	if !r.get("schema", "an object", &raw) {
		return nil
	}
	all, err := object(raw, "schema")
	if err != nil {
		r.fail(err)
		return nil
	}
	if all["embedded"] == nil && all["command"] == nil {
		return &Schema{Embedded: raw}
	}
	return r.schema()
}

// command reads an operation that is only a program.
func (r *reader) command(key, name string) *Operation {
	inner := r.inner(key, r.at+"."+key, "executable", "args")
	if inner == nil {
		return nil
	}
	o := &Operation{}
	inner.program(o, name)
	r.fail(inner.err)
	return o
}

// adapter reads how an adapter works.
func (r *reader) adapter() *Adapter {
	inner := r.inner("adapter", "adapter", "list", "inputKind", "config")
	if inner == nil {
		return nil
	}
	a := &Adapter{}
	inner.oneOf("config", &a.InputKind, "full", "sequence", "single")
	inner.oneOf("inputKind", &a.InputKind, "full", "sequence", "single")
	if inner.all["list"] != nil {
		a.List = inner.command("list", "list")
	}
	r.fail(inner.err)
	if r.err == nil && a.InputKind == "" {
		r.fail(fmt.Errorf(`"adapter" has no "inputKind"`))
	}
	return a
}

// parseAdapted reads the manifest of a resource that an adapter runs.
func parseAdapted(doc json.RawMessage) (*Manifest, error) {
	all, err := fields(doc, "", "$schema", "type", "kind", "version", "condition", "capabilities", "deprecationMessage",
		"description", "author", "requireAdapter", "path", "content", "schema", "tags", "metadata")
	if err != nil {
		return nil, err
	}
	m := &Manifest{Dialect: Current, CaseSensitive: true}
	r := &reader{m: m, all: all}
	m.schemaURI(r, "adaptedresource/manifest")
	m.top(r)
	m.adapted(r)
	return m, r.err
}

// adapted reads what only resources have that an adapter runs.
func (m *Manifest) adapted(r *reader) {
	r.text("requireAdapter", &m.RequireAdapter)
	r.text("path", &m.Path)
	r.get("capabilities", "a list of texts", &m.Capabilities)
	m.Content = r.all["content"]
	m.Schema = r.adaptedSchema()
	if r.err == nil && !isTypeName(m.RequireAdapter) {
		r.fail(fmt.Errorf("requireAdapter is %q, which is not a type such as Owner/Thing", m.RequireAdapter))
	}
}

// ParseListed reads a line that an adapter's list prints: a resource it can run. Unknown fields are ignored, since
// older adapters print more.
func ParseListed(line json.RawMessage) (*Manifest, error) {
	all, err := object(line, "the line")
	if err != nil {
		return nil, err
	}
	m := &Manifest{Dialect: Current, CaseSensitive: true}
	if s := all["schema"]; s != nil && s[0] != '{' {
		delete(all, "schema")
	}
	r := &reader{m: m, all: all}
	m.top(r)
	m.adapted(r)
	if r.err != nil {
		return nil, r.err
	}
	return m, m.check()
}
