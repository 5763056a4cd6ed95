package dsc

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// A Document is a document that has been read.
type Document struct {
	Instances []*Instance    // in the order in which they run
	Outputs   []string       // the names of the outputs, as written
	Known     map[string]any // outputs whose values do not depend on the host
}

// An Instance is one instance of a resource.
type Instance struct {
	Type       string        // as written
	Entry      string        // the host's name of the type
	BuiltIn    bool          // the type is one of ccm-push: it takes values alone, and they are not wrapped
	Receives   *yamlpos.Node // values from other resources, for a built-in type: properties with their senders, type#name.state.member, or nil
	Name       string        // name within the document, with the name of its group if another instance has the same
	Node       *yamlpos.Node // place of the name
	Properties *yamlpos.Node // resolved, a map; Scope describes the parts that the host evaluates
	Scope      *expr.Scope   // nil if the host evaluates nothing
	Excluded   bool          // its condition does not hold
	Secure     bool          // some of the properties are secure
	Assert     bool          // set if it is only tested
	Requires   []*Instance   // its dependencies
	Version    string        // a range; empty means any
	Adapter    string
	Security   string         // elevated, restricted, or "" for any
	Metadata   map[string]any // without the parts for dsc itself
	Output     bool           // set if it is not in the document; it computes the outputs
}

// Ref returns the host's name of the instance.
func (i *Instance) Ref() string { return i.Entry + "#" + i.Name }

// Desired returns the properties as JSON without secure values; nil if they are not known. Values that only the host
// can evaluate are expressions.
func (i *Instance) Desired() json.RawMessage {
	if i.Properties == nil || i.Secure && i.BuiltIn {
		return nil
	}
	b, err := json.Marshal(expr.Redacted(i.Properties.Any()))
	if err != nil {
		return nil
	}
	return b
}

// Options are the inputs of reading a document.
type Options struct {
	// Parameters has the parameters of a parameter file, or nil.
	Parameters *yamlpos.Node
	// Open returns the only document of a file next to the document, or next to the file that includes it, and its
	// name. An error has the position of at.
	Open func(at *yamlpos.Node, base, path string) (*yamlpos.Node, string, error)
	// File is the name of the document itself.
	File string
	// Type returns the host's name of a type of the document, and whether it is built in. ok is false for an unknown
	// type; then hint lists the known ones.
	Type func(typeName string) (entry string, builtIn bool, hint string, ok bool)
	// Tells reports whether resources of an entry's type report their state; nil means that all do.
	Tells func(entry string) bool
	Now   func() time.Time
}

// schemas are the addresses of DSC's schemas.
var schemas = []string{"https://aka.ms/dsc/schemas/", "https://raw.githubusercontent.com/PowerShell/DSC/"}

// Is reports whether a document is a configuration document: by its schema, or
// because its resources have names and types.
func Is(n *yamlpos.Node) bool {
	if n.Kind != yamlpos.Map || n.Get("ccm") != nil {
		return false
	}
	if schema := n.Get("$schema"); schema != nil {
		for _, prefix := range schemas {
			rest, ok := strings.CutPrefix(schema.Text, prefix)
			if ok && strings.Contains(rest, "config/document") {
				return true
			}
		}
	}
	list := n.Get("resources")
	if list == nil || list.Kind != yamlpos.List || len(list.Items) == 0 {
		return false
	}
	first := list.Items[0]
	return first.Kind == yamlpos.Map && first.Get("name") != nil && first.Get("type") != nil
}

// Read reads a document. The error is [yamlpos.Errors].
func Read(ctx context.Context, n *yamlpos.Node, opts Options) (*Document, error) {
	r := &reader{opts: opts, byRef: map[string]*Instance{}}
	outer := r.scope(n, opts.Parameters, nil, opts.File)
	outer.read(ctx)
	r.fold(ctx)
	doc := &Document{Known: map[string]any{}}
	outer.outputs(ctx, doc)
	if len(r.errs) == 0 {
		doc.Instances = r.sorted()
	}
	if err := r.distinct(); err != nil {
		return nil, err
	}
	return doc, nil
}

// documentKeys are the keys of a document.
type documentKeys struct {
	Schema     string     `json:"$schema"`
	Version    string     `json:"contentVersion"`
	Metadata   any        `json:"metadata"`
	Directives directives `json:"directives"`
	Parameters any        `json:"parameters"`
	Variables  any        `json:"variables"`
	Functions  any        `json:"functions"`
	Resources  any        `json:"resources"`
	Outputs    any        `json:"outputs"`
	Execution  any        `json:"executionInformation"`
}

type directives struct {
	Version   string `json:"version"`
	Security  string `json:"securityContext"`
	Discovery string `json:"resourceDiscovery"`
}

// instanceKeys are the keys of an entry of resources.
type instanceKeys struct {
	Name           string             `json:"name"`
	Type           string             `json:"type"`
	Properties     any                `json:"properties"`
	DependsOn      any                `json:"dependsOn"`
	Condition      any                `json:"condition"`
	Copy           any                `json:"copy"`
	RequireVersion string             `json:"requireVersion" also:"apiVersion"`
	Directives     instanceDirectives `json:"directives"`
	Metadata       any                `json:"metadata"`
	Comments       string             `json:"comments"`
}

type instanceDirectives struct {
	Adapter  string `json:"requireAdapter"`
	Security string `json:"securityContext"`
}

type copyKeys struct {
	Name  string `json:"name"`
	Count any    `json:"count"`
	Mode  any    `json:"mode"`
	Batch any    `json:"batchSize"`
}

type parameterKeys struct {
	Type        string `json:"type"`
	Default     any    `json:"defaultValue"`
	Allowed     []any  `json:"allowedValues"`
	Min         *int64 `json:"minValue"`
	Max         *int64 `json:"maxValue"`
	MinLength   *int64 `json:"minLength"`
	MaxLength   *int64 `json:"maxLength"`
	Description string `json:"description"`
	Metadata    any    `json:"metadata"`
}

type outputKeys struct {
	Type      string `json:"type"`
	Value     any    `json:"value"`
	Condition any    `json:"condition"`
	Metadata  any    `json:"metadata"`
}
