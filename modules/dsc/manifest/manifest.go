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

// A Manifest describes a resource, whatever dialect it was written in. It is sent to a host as JSON.
type Manifest struct {
	Dialect     Dialect `json:"dialect"`
	Type        string  `json:"type"`
	Version     string  `json:"version"`
	Kind        string  `json:"kind"`
	Condition   string  `json:"condition,omitempty"`   // an expression; the manifest counts where it is true
	Deprecation string  `json:"deprecation,omitempty"` // replacement to use; reported at each use

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
	Requires  []Requirement     `json:"requires,omitempty"`  // first design only

	// CaseSensitive reports that texts which differ only in case differ. It is false only for some resources of the
	// first design.
	CaseSensitive bool `json:"caseSensitive,omitempty"`

	// Fields for a resource that an adapter runs.
	RequireAdapter string          `json:"requireAdapter,omitempty"` // type of the adapter
	Path           string          `json:"path,omitempty"`           // relative to the manifest, or absolute
	Content        json.RawMessage `json:"content,omitempty"`        // content that the manifest passes to the adapter
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

// The ways in which an operation takes the properties of the instance, in addition to [JSONInput] among its arguments.
const (
	InputStdin = "stdin" // as JSON
	InputEnv   = "env"   // one variable each
	InputArgs  = "args"  // --name value; of the first design
)

// Kinds of output of an operation.
const (
	ReturnState        = "state"
	ReturnStateAndDiff = "stateAndDiff" // and, on a second line, the names of the properties that differ
)

// Users that may run an operation.
const (
	SecurityCurrent    = "current"
	SecurityElevated   = "elevated"   // root
	SecurityRestricted = "restricted" // not root
)

// An Operation is a command to run. Not every field has a meaning for every operation.
type Operation struct {
	Executable string `json:"executable,omitempty"`
	Args       []Arg  `json:"args,omitempty"`
	Input      string `json:"input,omitempty"`
	Security   string `json:"security,omitempty"` // "" is [SecurityCurrent]

	Return        string `json:"return,omitempty"`        // "" prints nothing that counts
	WhatIfReturns string `json:"whatIfReturns,omitempty"` // "" is Return

	ImplementsPretest bool `json:"implementsPretest,omitempty"` // set tests by itself
	HandlesExist      bool `json:"handlesExist,omitempty"`      // set makes absent, too

	NoFiltering  bool    `json:"noFiltering,omitempty"` // export returns everything, whatever the filter
	FilterSchema *Schema `json:"filterSchema,omitempty"`

	// Verdict reports that a test exits with 0 if the instance is in the desired state, and otherwise with another code
	// and prints the differences: the first design.
	Verdict bool `json:"verdict,omitempty"`
}

// Has reports whether the operation has an argument of that kind.
func (o *Operation) Has(kind ArgKind) bool {
	for _, a := range o.Args {
		if a.Kind == kind {
			return true
		}
	}
	return false
}

// Takes reports whether the operation receives the properties of the instance.
func (o *Operation) Takes() bool { return o.Input != "" || o.Has(JSONInput) }

// A Schema describes the properties of an instance: embedded here, or printed by a command.
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
	Version      string `json:"version,omitempty"` // a range as NuGet writes it; not checked
}
