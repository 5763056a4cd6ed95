package yamlpos

import (
	"reflect"
	"strings"
	"sync"
)

// A structInfo is what the tags of a struct say.
type structInfo struct {
	fields []reflect.StructField
	names  []string       // of fields, as in their json tags
	byName map[string]int // names and other spellings → index in fields
}

// structs remembers what reflection found, as it is slow. A type never changes.
var structs sync.Map // reflect.Type → *structInfo

func structOf(t reflect.Type) *structInfo {
	if known, ok := structs.Load(t); ok {
		return known.(*structInfo)
	}
	info := &structInfo{byName: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || name == "" {
			continue
		}
		info.byName[name] = len(info.fields)
		for also := range strings.SplitSeq(f.Tag.Get("also"), ",") {
			if also != "" {
				info.byName[also] = len(info.fields)
			}
		}
		info.fields = append(info.fields, f)
		info.names = append(info.names, name)
	}
	structs.Store(t, info)
	return info
}

// fieldOf finds a field and allocates the embedded pointers on the way to it.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
