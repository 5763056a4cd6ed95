package events

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// identities are the fields that identify related events. Their values are from places in manifests and inventories
// where no secret is allowed.
var identities = map[string]bool{
	"Run": true, "Play": true, "Plays": true, "Host": true, "Hosts": true, "Type": true, "Name": true, "Alias": true,
	"Status": true, "Cause": true, "Stream": true, "ErrorKind": true, "Reason": true, "Level": true, "Property": true,
	"Manifests": true, "Version": true, "Undoes": true,
}

// masked returns a copy of e in which all texts are masked, except those that identify it.
func masked(e Event, m Mask) Event {
	return maskedValue(reflect.ValueOf(e), m).Interface().(Event)
}

func maskedValue(v reflect.Value, m Mask) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(m.Text(v.String())).Convert(v.Type())
	case reflect.Struct:
		return maskedStruct(v, m)
	case reflect.Slice:
		return maskedSlice(v, m)
	case reflect.Map:
		all := reflect.MakeMapWithSize(v.Type(), v.Len())
		for i := v.MapRange(); i.Next(); {
			all.SetMapIndex(maskedValue(i.Key(), m), maskedValue(i.Value(), m))
		}
		if v.IsNil() {
			return v
		}
		return all
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		switch v.Interface().(type) {
		case *yamlpos.Node, error: // source and place; neither is shown
			return v
		}
		one := maskedValue(v.Elem(), m)
		if v.Kind() == reflect.Interface {
			return one
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(one)
		return p
	}
	return v
}

func maskedStruct(v reflect.Value, m Mask) reflect.Value {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return v
	}
	one := reflect.New(v.Type()).Elem()
	one.Set(v)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !identities[f.Name] {
			one.Field(i).Set(maskedValue(v.Field(i), m))
		}
	}
	return one
}

func maskedSlice(v reflect.Value, m Mask) reflect.Value {
	if v.IsNil() {
		return v
	}
	if v.Type().Elem().Kind() == reflect.Uint8 { // JSON, which it stays
		text := m.Text(string(v.Bytes()))
		if !json.Valid([]byte(text)) && json.Valid(v.Bytes()) { // it was a number
			text = `"[secret]"`
		}
		return reflect.ValueOf([]byte(text)).Convert(v.Type())
	}
	all := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		all.Index(i).Set(maskedValue(v.Index(i), m))
	}
	return all
}
