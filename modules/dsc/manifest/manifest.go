package manifest

import (
	"encoding/json"
	"strings"
)

// A Dialect is the way in which a manifest is written.
type Dialect string

// The dialects.
const (
	Current Dialect = "current" // DSC 3: $schema
	Alpha   Dialect = "alpha"   // 2023: manifestVersion at the top
	First   Dialect = "first"   // the first design: dscresource
)

// The kinds of resource.
const (
	KindResource = "resource"
	KindAdapter  = "adapter"
	KindGroup    = "group"
	KindImporter = "importer"
	KindExporter = "exporter"
)

// A Manifest describes a resource, whatever dialect it was written in. Its JSON is
// what travels to a host.
type Manifest struct {
	Dialect     Dialect `json:"dialect"`
	Type        string  `json:"type"`
	Version     string  `json:"version"`
	Kind        string  `json:"kind"`
	Condition   string  `json:"condition,omitempty"`   // an expression; the manifest counts where it is true
	Deprecation string  `json:"deprecation,omitempty"` // what to use instead; said at each use

	Get      *Operation `json:"get,omitempty"`
	Set      *Operation `json:"set,omitempty"`
	Test     *Operation `json:"test,omitempty"`
	Delete   *Operation `json:"delete,omitempty"`
	Export   *Operation `json:"export,omitempty"`
	Validate *Operation `json:"validate,omitempty"`
	Resolve  *Operation `json:"resolve,omitempty"`
	WhatIf   *Operation `json:"whatIf,omitempty"` // deprecated by an argument of set

	Schema    *Schema           `json:"schema,omitempty"`
	Adapter   *Adapter          `json:"adapter,omitempty"`
	ExitCodes map[string]string `json:"exitCodes,omitempty"` // decimal → meaning
	Requires  []Requirement     `json:"requires,omitempty"`  // of the first design

	// CaseSensitive says that texts which differ only in case differ. Only the first
	// design knows resources of which that is not so.
	CaseSensitive bool `json:"caseSensitive,omitempty"`

	// Of a resource that an adapter runs.
	RequireAdapter string          `json:"requireAdapter,omitempty"` // type of the adapter
	Path           string          `json:"path,omitempty"`           // relative to the manifest, or absolute
	Content        json.RawMessage `json:"content,omitempty"`        // what the manifest hands to the adapter
	Capabilities   []string        `json:"capabilities,omitempty"`   // such as get and set; nil if it does not say

	Warnings []string `json:"warnings,omitempty"` // about the manifest itself
}

// Adapted reports whether the resource is run by an adapter.
func (m *Manifest) Adapted() bool { return m.RequireAdapter != "" }

// Is reports whether the resource has that type. Case does not count; the names of
// the first design, which have no slash, may be written with one for the last dot.
func (m *Manifest) Is(typeName string) bool {
	if strings.EqualFold(m.Type, typeName) {
		return true
	}
	i := strings.LastIndexByte(m.Type, '.')
	return m.Dialect == First && i > 0 && !strings.Contains(m.Type, "/") &&
		strings.EqualFold(m.Type[:i]+"/"+m.Type[i+1:], typeName)
}

// Like reports whether a type is named by another name, whatever dialect it is from;
// see [Manifest.Is].
func Like(typ, name string) bool {
	m := Manifest{Type: typ, Dialect: First}
	return m.Is(name)
}

// The ways in which an operation takes the properties of the instance, besides
// [JSONInput] among its arguments.
const (
	InputStdin = "stdin" // as JSON
	InputEnv   = "env"   // one variable each
	InputArgs  = "args"  // --name value; of the first design
)

// What an operation prints.
const (
	ReturnState        = "state"
	ReturnStateAndDiff = "stateAndDiff" // and, on a second line, the names of the properties that differ
)

// Who may run an operation.
const (
	SecurityCurrent    = "current"
	SecurityElevated   = "elevated"   // root
	SecurityRestricted = "restricted" // not root
)

// An Operation is how an executable is called. Not every field has a meaning for
// every operation.
type Operation struct {
	Executable string `json:"executable,omitempty"`
	Args       []Arg  `json:"args,omitempty"`
	Input      string `json:"input,omitempty"`
	Security   string `json:"security,omitempty"` // "" is [SecurityCurrent]

	Return        string `json:"return,omitempty"`        // "" prints nothing that counts
	WhatIfReturns string `json:"whatIfReturns,omitempty"` // "" is Return

	ImplementsPretest bool `json:"implementsPretest,omitempty"` // set tests by itself
	HandlesExist      bool `json:"handlesExist,omitempty"`      // set makes absent, too

	NoFiltering  bool    `json:"noFiltering,omitempty"` // export gives everything, whatever it is asked for
	FilterSchema *Schema `json:"filterSchema,omitempty"`

	// Verdict says that a test ends with 0 if the instance is as it shall be, and
	// otherwise with another code and what differs: the first design.
	Verdict bool `json:"verdict,omitempty"`
}

// Has reports whether an argument of that kind is among those of the operation.
func (o *Operation) Has(kind ArgKind) bool {
	for _, a := range o.Args {
		if a.Kind == kind {
			return true
		}
	}
	return false
}

// Takes reports whether the operation is told the properties of the instance.
func (o *Operation) Takes() bool { return o.Input != "" || o.Has(JSONInput) }

// A Schema describes the properties of an instance: as it stands here, or as a
// command prints it.
type Schema struct {
	Embedded json.RawMessage `json:"embedded,omitempty"`
	Command  *Operation      `json:"command,omitempty"`
}

// An Adapter runs resources that are not executables themselves.
type Adapter struct {
	List      *Operation `json:"list"`      // prints them, one JSON object per line
	InputKind string     `json:"inputKind"` // "single", "full" or "sequence"
}

// A Requirement is something on the host that a resource of the first design needs.
type Requirement struct {
	Resource     string `json:"resource"`
	ResourceType string `json:"resourceType"`      // "executable" or "OS"
	Version      string `json:"version,omitempty"` // a range as NuGet writes it; not looked at
}
