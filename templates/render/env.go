package render

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Env has the values that the expressions of one host can read. Values are plain: map[string]any, []any, string, bool,
// int64, float64 and nil; they are not changed. A nil map is a root that does not exist in this context, so the zero
// Env has no values. An Env is safe for concurrent use once its fields are set, and must not be copied then.
type Env struct {
	Facts    map[string]any
	Data     map[string]any
	Environ  map[string]any // texts
	Item     any            // the element of `each`
	HasItem  bool           // there is an item
	Outer    any            // the element of the nearest `each` around that one
	HasOuter bool
	// Order has the order of the keys in Data, and ItemOrder in Item; nil for sorted keys, as in maps of other roots.
	Order, ItemOrder KeyOrder
	Files            *Files
	// Settling is set while the data is evaluated: then values in it can be [Pending].
	Settling *Settling

	Inventory *Inventory // nil where none is known

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
	OuterRoot   = "Outer"
	HostRoot    = "Host"
	GroupsRoot  = "Groups"
	HostsRoot   = "Hosts"
	PlayRoot    = "Play"
	RunRoot     = "Run"
	ResultsRoot = "Results"
)

// RootNames returns the names of all roots in expressions.
func RootNames() []string {
	return []string{FactsRoot, DataRoot, EnvironRoot, ItemRoot, OuterRoot, HostRoot, GroupsRoot, HostsRoot, PlayRoot, RunRoot, ResultsRoot}
}

// Root returns the value of one of the roots, by its name in expressions.
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
	case OuterRoot:
		return e.Outer, e.HasOuter
	}
	if lazy := e.Inventory.root(name); lazy != nil {
		return lazy.Value(), true
	}
	return nil, false
}

// has reports whether there is a root, without building it.
func (e *Env) has(name string) bool {
	if IsInventoryRoot(name) {
		return e.Inventory.root(name) != nil
	}
	_, ok := e.Root(name)
	return ok
}

// Need returns a root, or an error that names the available roots.
func (e *Env) Need(name string) (any, error) {
	if value, ok := e.Root(name); ok {
		return value, nil
	}
	f := diag.Faultf("%q is not available here", name)
	switch {
	case name == ItemRoot:
		f.Msg += `: only resources with the key "each" have an item`
	case name == OuterRoot:
		f.Msg += `: it is the item of the block around a resource that has a key "each" of its own`
	case name == ResultsRoot:
		f.Msg += `: only resources see the results of others, and only where one has the key "register"`
	case IsInventoryRoot(name):
		f.Msg += ": no inventory"
	}
	if there := e.Available(); len(there) > 0 {
		f.Hint = "available: " + strings.Join(there, ", ")
	}
	return nil, f
}

// Available returns the names of the roots that exist in this context.
func (e *Env) Available() []string {
	return slices.DeleteFunc(RootNames(), func(name string) bool { return !e.has(name) })
}

// Seen returns the available roots that a template can see if read are the names it contains. The inventory's roots are
// built only for a template that names them.
func (e *Env) Seen(read map[string]bool) []string {
	return slices.DeleteFunc(e.Available(), func(name string) bool { return IsInventoryRoot(name) && !read[name] })
}

// AllRoots names all roots, for [Env.Seen].
func AllRoots() map[string]bool {
	all := map[string]bool{}
	for _, name := range RootNames() {
		all[name] = true
	}
	return all
}

// Dot has the roots that are seen under both of their names.
func (e *Env) Dot(read map[string]bool) map[string]any {
	dot := map[string]any{}
	for _, name := range e.Seen(read) {
		value, _ := e.Root(name)
		dot[name], dot[strings.ToLower(name)] = value, value
	}
	return dot
}

// JSON returns the JSON text that gjson paths are applied to: the available roots, without the inventory's, under the
// names that lookup() uses.
func (e *Env) JSON() ([]byte, error) {
	e.snapshotOnce.Do(func() {
		e.snapshot, e.snapshotErr = e.jsonWith(nil)
	})
	return e.snapshot, e.snapshotErr
}

// jsonWith is JSON with roots of the inventory in it.
func (e *Env) jsonWith(inventory map[string]bool) ([]byte, error) {
	roots := map[string]any{}
	for _, name := range e.Seen(inventory) {
		if lazy := e.Inventory.root(name); lazy != nil {
			text, err := lazy.json()
			if err != nil {
				return nil, err
			}
			roots[strings.ToLower(name)] = json.RawMessage(text)
			continue
		}
		roots[strings.ToLower(name)], _ = e.Root(name)
	}
	return jsonOf(roots)
}

// jsonFor returns the JSON that a gjson path is applied to, and the path in it. The JSON contains the inventory only if
// the path names it, since the inventory can be large. A path that begins in the inventory needs no other root.
func (e *Env) jsonFor(path string) (snapshot []byte, inside string, err error) {
	if root, keys, known := LookupPath(path); known && len(keys) > 0 && IsInventoryRoot(root) && e.has(root) {
		snapshot, err = e.Inventory.root(root).json()
		return snapshot, path[len(root)+1:], err
	}
	named := map[string]bool{}
	for _, name := range inventoryRoots() {
		if strings.Contains(path, strings.ToLower(name)) {
			named[name] = true
		}
	}
	if len(named) > 0 {
		snapshot, err = e.jsonWith(named)
		return snapshot, path, err
	}
	snapshot, err = e.JSON()
	return snapshot, path, err
}

// IsRoot reports whether name is the name of a root in expressions.
func IsRoot(name string) bool { return slices.Contains(RootNames(), name) }

// RootNamed returns the name that a root has in expressions, for either spelling of it: Jet has both. It is "" for any
// other name.
func RootNamed(name string) string {
	for _, root := range RootNames() {
		if name == root || name == strings.ToLower(root) {
			return root
		}
	}
	return ""
}
