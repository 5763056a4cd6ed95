package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Env is what the expressions of one host can see. Values are plain:
// map[string]any, []any, string, bool, int64, float64 and nil; they are not
// changed. A nil map is a root that does not exist in this context, so the zero
// Env shows nothing. An Env is safe for concurrent use once its fields are set,
// and must not be copied then.
type Env struct {
	Facts   map[string]any
	Data    map[string]any
	Environ map[string]any // texts
	Item    any            // the element of `each`
	HasItem bool           // there is an item
	Files   *Files

	snapshotOnce sync.Once
	snapshot     []byte
	snapshotErr  error

	structsOnce sync.Once
	structs     map[uintptr]bool // the maps of Facts that are structs in CCM
}

// The names of the roots in expressions; lookup() has them in lower case.
const (
	FactsRoot   = "Facts"
	DataRoot    = "Data"
	EnvironRoot = "Environ"
	ItemRoot    = "Item"
)

// RootNames gives the names of all roots in expressions.
func RootNames() []string { return []string{FactsRoot, DataRoot, EnvironRoot, ItemRoot} }

// Root gives the value of one of the roots, by its name in expressions.
func (e *Env) Root(name string) (value any, available bool) {
	switch name {
	case FactsRoot:
		return e.Facts, e.Facts != nil
	case DataRoot:
		return e.Data, e.Data != nil
	case EnvironRoot:
		return e.Environ, e.Environ != nil
	case ItemRoot:
		return e.Item, e.HasItem
	}
	return nil, false
}

// Need is Root, or an error that says what there is instead.
func (e *Env) Need(name string) (any, error) {
	if value, ok := e.Root(name); ok {
		return value, nil
	}
	f := diag.Faultf("%s is not available here", name)
	if name == ItemRoot {
		f.Msg += ": there is an item only below each"
	}
	if there := e.Available(); len(there) > 0 {
		f.Hint = "available: " + strings.Join(there, ", ")
	}
	return nil, f
}

// Available gives the names of the roots that exist in this context.
func (e *Env) Available() []string {
	return slices.DeleteFunc(RootNames(), func(name string) bool {
		_, ok := e.Root(name)
		return !ok
	})
}

// Dot has the available roots under both of their names.
func (e *Env) Dot() map[string]any {
	dot := map[string]any{}
	for _, name := range e.Available() {
		value, _ := e.Root(name)
		dot[name], dot[strings.ToLower(name)] = value, value
	}
	return dot
}

// roots are the available roots under the names that lookup() uses.
func (e *Env) roots() map[string]any {
	roots := map[string]any{}
	for _, name := range e.Available() {
		roots[strings.ToLower(name)], _ = e.Root(name)
	}
	return roots
}

// JSON is the JSON text that gjson paths are applied to.
func (e *Env) JSON() ([]byte, error) {
	e.snapshotOnce.Do(func() {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		e.snapshotErr = enc.Encode(e.roots())
		e.snapshot = b.Bytes()
	})
	return e.snapshot, e.snapshotErr
}

// IsRoot reports whether name is that of a root in expressions.
func IsRoot(name string) bool {
	return name == FactsRoot || name == DataRoot || name == EnvironRoot || name == ItemRoot
}

// RootNamed gives the name that a root has in expressions, for either spelling of it: Jet
// has both. It is "" for any other name.
func RootNamed(name string) string {
	for _, root := range RootNames() {
		if name == root || name == strings.ToLower(root) {
			return root
		}
	}
	return ""
}
