package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// RefreshOnly is the property that makes a resource an event, see [modules.Event].
const RefreshOnly = "refreshonly"

// IsEvent reports whether a map of properties makes an event, whatever its expressions return.
func IsEvent(t modules.Type, props *yamlpos.Node) bool {
	n := GetProperty(t, props, RefreshOnly)
	is := false // also written as a word, such as yes
	return n != nil && t.HasProperty(RefreshOnly) && n.Kind == yamlpos.Scalar && yamlpos.Decode(n, &is) == nil && is
}

// NotOfEvent reports whether an event cannot have a property.
func NotOfEvent(t modules.Type, key string) bool {
	return ofEvent(t, key) == "no"
}

// ofEvent returns [modules.Field].Event of a property.
func ofEvent(t modules.Type, key string) string {
	for _, f := range modules.Fields(t.New()) {
		if f.Name == CanonicalProperty(t, key) {
			return f.Event
		}
	}
	return ""
}

// CheckEvent returns errors for properties that an event would ignore, and for properties that only events have if
// refreshonly turns out to be false.
func (s PropertySet) CheckEvent(open func(*yamlpos.Node) bool) error {
	n, event := s.Get(RefreshOnly), IsEvent(s.Type, s.Node)
	if n == nil || open(n) {
		return nil
	}
	var errs yamlpos.Errors
	for _, pair := range s.Node.Pairs {
		of := ofEvent(s.Type, pair.Key.Text)
		switch {
		case pair.Value.Value == nil && pair.Value.Kind == yamlpos.Scalar && !open(pair.Value):
			continue
		case !event && of == "only":
			errs.Add(pair.Key.Errorf("remove it, or make refreshonly true", "only an event (refreshonly: true) has %q", pair.Key.Text))
			continue
		case !event || of != "no":
			continue
		}
		hint := "remove it"
		switch key := pair.Key.Text; {
		case key == "ensure" && s.Type.HasProperty("action"):
			hint = "write action: start or stop, or move it to a resource without refreshonly"
		case key == "enable" || key == "masked":
			hint = "move it to a resource without refreshonly; both can have the same name"
		}
		errs.Add(pair.Key.Errorf(hint, "an event (refreshonly: true) has no %q: it compares nothing", pair.Key.Text))
	}
	return errs.Err()
}
