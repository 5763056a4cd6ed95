package ral

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// The values of ensure that mean more than themselves.
const (
	ensure    = "ensure"
	present   = "present"
	installed = "installed"
	latest    = "latest"
	absent    = "absent"
	purged    = "purged"
)

// wanted converts the desired values of a resource to the types of the provider, or returns the values that the
// provider would refuse.
func (m *metadata) wanted(name string, properties map[string]any) (values, error) {
	var errs []error
	if m.Invoke == invokeSimple {
		if err := unfit(name); err != nil {
			errs = append(errs, modules.Errorf("name", "the name %v", err))
		}
	}
	want := values{}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		v, err := m.wantedValue(key, properties[key])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		want[key] = v
	}
	return want, errors.Join(errs...)
}

func (m *metadata) wantedValue(key string, value any) (any, error) {
	a, known := m.Attributes[key]
	switch {
	case key == "name":
		return nil, modules.Errorf(property(key), "the name of the resource is its key")
	case !known:
		return nil, &modules.PropertyError{
			Path: property(key),
			Msg:  "provider " + m.full() + " has no attribute " + quoted(key),
			Hint: "known attributes: " + strings.Join(m.settable(), ", "),
		}
	case a.Kind == kindRead:
		return nil, modules.Errorf(property(key), "provider %s reports %q and cannot set it", m.full(), key)
	}
	v, err := a.convert(value)
	if err != nil {
		return nil, &modules.PropertyError{Path: property(key), Msg: err.Error(), Hint: "the type of this attribute is " + a.spelt()}
	}
	if m.Invoke == invokeSimple {
		if _, err := simpleText(v); err != nil {
			return nil, modules.Errorf(property(key), "the value %v", err)
		}
	}
	return v, nil
}

// settable lists the attributes that can be set.
func (m *metadata) settable() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		if name != "name" && m.Attributes[name].Kind != kindRead {
			names = append(names, name)
		}
	}
	if names == nil {
		return []string{"none that can be set"}
	}
	return names
}

// missing returns the state of a resource that a provider has not mentioned.
func (m *metadata) missing() values {
	if _, ok := m.Attributes[ensure]; ok {
		return values{ensure: absent}
	}
	return values{}
}

// should returns the values to set so that is becomes want. If no attribute differs, it returns none. Otherwise it
// returns the attributes that differ, and the attributes that cannot be compared.
func (m *metadata) should(want, is values) values {
	if gone(want[ensure]) {
		if ensured(want[ensure], is[ensure]) {
			return nil
		}
		return values{ensure: want[ensure]}
	}
	should := values{}
	for key, v := range want {
		switch {
		case m.Attributes[key].Kind == kindWrite:
		case key == ensure && ensured(v, is[key]):
		case key != ensure && equal(v, is[key]):
		default:
			should[key] = v
		}
	}
	if len(should) == 0 {
		return nil
	}
	for key, v := range want {
		if m.Attributes[key].Kind == kindWrite {
			should[key] = v
		}
	}
	return should
}

func gone(v any) bool { return v == absent || v == purged }

// ensured reports whether an ensure has the desired value. A provider of packages reports the version of an installed
// package. Whether that is the latest is not known.
func ensured(want, is any) bool {
	switch want {
	case absent:
		return gone(is)
	case present, installed:
		return is != nil && !gone(is)
	}
	return want == is
}

// reached is [metadata.should] after a set: the version that is there counts as the latest.
func (m *metadata) reached(want, is values) values {
	if want[ensure] == latest && is[ensure] != nil && !gone(is[ensure]) {
		is = is.plus(values{ensure: latest})
	}
	return m.should(want, is)
}
