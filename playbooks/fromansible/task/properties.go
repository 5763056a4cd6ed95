package task

import (
	"reflect"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// emptyOf is the value of a property that means that it is not given; "" if there is none.
func emptyOf(types modules.Registry, typ, property string) string {
	t, ok := types.Lookup(typ)
	if !ok {
		return ""
	}
	v := reflect.ValueOf(t.New()).Elem()
	if v.Kind() != reflect.Struct {
		return ""
	}
	field, ok := fieldCalled(v.Type(), property)
	if !ok {
		return ""
	}
	switch field.Type.Kind() {
	case reflect.String:
		return "''"
	case reflect.Slice:
		return "[]"
	case reflect.Bool:
		return "false"
	}
	return ""
}

// Refused reports what a type says against properties that are written out.
func (t *Task) Refused(typ string, properties map[string]any) {
	of, ok := t.of.Types.Lookup(typ)
	if !ok {
		return
	}
	res := of.New()
	err := yamlpos.Decode(yamlpos.From(&yamlpos.Node{}, properties), res)
	if modules.SetName(res, "x"); err == nil {
		modules.SetDefaults(res)
		err = res.Validate()
	}
	if err != nil {
		t.Problem("%s: %v", t.Module, err)
	}
}

// fieldCalled finds the field of a property, also of those that structs are embedded for.
func fieldCalled(t reflect.Type, property string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == property {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// wantsNumber reports whether a property is a number.
func wantsNumber(types modules.Registry, typ, property string) bool {
	t, ok := types.Lookup(typ)
	if !ok {
		return false
	}
	field, ok := fieldCalled(reflect.TypeOf(t.New()).Elem(), property)
	if !ok {
		return false
	}
	of := field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of.Kind() >= reflect.Int && of.Kind() <= reflect.Uint64
}
