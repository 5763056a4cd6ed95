package render

import (
	"reflect"
	"slices"
	"strings"
)

// structFacts are the paths of the facts that are Go structs in CCM, or lists of structs.
// Expressions of CCM know their keys by the names of the fields only, OS for os; its
// lookup() knows them by their names in JSON (choria-io/ccm, package facts).
var structFacts = [][]string{
	{"host", "info"},
	{"network", "interfaces"},
	{"network", "interfaces", "addrs"},
	{"partition", "partitions"},
	{"partition", "usage"},
	{"cpu", "info"},
	{"memory", "virtual"},
	{"memory", "swap", "info"},
	{"memory", "swap", "devices"},
}

// Field returns the JSON key of a field in gopsutil's structs: hostId for HostID. Any other name is returned unchanged.
func Field(name string) string {
	switch name {
	case "OS", "CPU", "MTU":
		return strings.ToLower(name)
	case "HostID", "VendorID", "PhysicalID", "CoreID":
		name = strings.TrimSuffix(name, "ID") + "Id"
	case "", "Os", "Cpu", "Mtu", "HostId", "VendorId", "PhysicalId", "CoreId":
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// Key returns the value of a map key. A fact that is a field of a struct in CCM can also be read by the name of the
// field.
func (e *Env) Key(m map[string]any, key string) (value any, found bool) {
	if value, found = m[key]; found || !isFieldName(key) {
		return value, found
	}
	e.structsOnce.Do(e.findStructs)
	if e.structs[reflect.ValueOf(m).Pointer()] {
		value, found = m[Field(key)]
	}
	return value, found
}

// FactKeys replaces the names of fields in a path below the facts by their JSON keys.
func FactKeys(keys []string) []string {
	for _, path := range structFacts {
		if n := len(path); len(keys) > n && slices.Equal(keys[:n], path) && isFieldName(keys[n]) {
			keys = slices.Clone(keys)
			keys[n] = Field(keys[n])
		}
	}
	return keys
}

// isFieldName reports whether a key could be the name of a field.
func isFieldName(key string) bool { return key != "" && 'A' <= key[0] && key[0] <= 'Z' }

// findStructs notes which maps of the facts are structs in CCM.
func (e *Env) findStructs() {
	e.structs = map[uintptr]bool{}
	for _, path := range structFacts {
		e.noteStructs(e.Facts, path)
	}
}

// noteStructs follows a path, through all elements of the lists on it.
func (e *Env) noteStructs(value any, path []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			e.noteStructs(item, path)
		}
	case map[string]any:
		if len(path) == 0 {
			e.structs[reflect.ValueOf(value).Pointer()] = true
		} else {
			e.noteStructs(value[path[0]], path[1:])
		}
	}
}
