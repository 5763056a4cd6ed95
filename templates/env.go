package templates

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
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
	HasItem bool           // whether there is one
	Files   *Files

	lenient bool // a missing key is nil: hierarchy.order

	snapshotOnce sync.Once
	snapshot     []byte
	snapshotErr  error
}

// The names of the roots in expressions; lookup() has them in lower case.
const (
	factsRoot   = "Facts"
	dataRoot    = "Data"
	environRoot = "Environ"
	itemRoot    = "Item"
)

func rootNames() []string { return []string{factsRoot, dataRoot, environRoot, itemRoot} }

// root gives the value of one of the roots, by its name in expressions.
func (e *Env) root(name string) (value any, available bool) {
	switch name {
	case factsRoot:
		return e.Facts, e.Facts != nil
	case dataRoot:
		return e.Data, e.Data != nil
	case environRoot:
		return e.Environ, e.Environ != nil
	case itemRoot:
		return e.Item, e.HasItem
	}
	return nil, false
}

// needRoot is root, or an error that says what there is instead.
func (e *Env) needRoot(name string) (any, error) {
	if value, ok := e.root(name); ok {
		return value, nil
	}
	f := faultf("%s is not available here", name)
	if name == itemRoot {
		f.msg += ": there is an item only below each"
	}
	if there := e.available(); len(there) > 0 {
		f.hint = "available: " + strings.Join(there, ", ")
	}
	return nil, f
}

func (e *Env) available() []string {
	return slices.DeleteFunc(rootNames(), func(name string) bool {
		_, ok := e.root(name)
		return !ok
	})
}

// dot has the available roots under both of their names.
func (e *Env) dot() map[string]any {
	dot := map[string]any{}
	for _, name := range e.available() {
		value, _ := e.root(name)
		dot[name], dot[strings.ToLower(name)] = value, value
	}
	return dot
}

// roots are the available roots under the names that lookup() uses.
func (e *Env) roots() map[string]any {
	roots := map[string]any{}
	for _, name := range e.available() {
		roots[strings.ToLower(name)], _ = e.root(name)
	}
	return roots
}

// json is the JSON text that gjson paths are applied to.
func (e *Env) json() ([]byte, error) {
	e.snapshotOnce.Do(func() {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		e.snapshotErr = enc.Encode(e.roots())
		e.snapshot = b.Bytes()
	})
	return e.snapshot, e.snapshotErr
}
