package dsc

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// filtered compares an instance with a filter, for resources that export everything: all its properties must match. In
// a list of objects, only matching ones are kept.
func filtered(filter, state map[string]any) (kept map[string]any, ok bool) {
	kept = maps.Clone(state)
	for name, want := range filter {
		have, given := state[name]
		if !given {
			return nil, false
		}
		wanted, isList := want.([]any)
		list, hasList := have.([]any)
		if isList && hasList && allObjects(wanted) {
			var some []any
			for _, item := range list {
				if slices.ContainsFunc(wanted, func(want any) bool { return fits(want, item) }) {
					some = append(some, item)
				}
			}
			if len(some) == 0 {
				return nil, false
			}
			kept[name] = some
			continue
		}
		if !fits(want, have) {
			return nil, false
		}
	}
	return kept, true
}

func allObjects(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(item any) bool { _, ok := item.(map[string]any); return !ok })
}

// fits compares texts without case and with * for anything, objects by the members of the filter, lists by whether they
// contain each wanted element.
func fits(want, have any) bool {
	switch want := want.(type) {
	case string:
		have, ok := have.(string)
		return ok && matches(strings.ToLower(want), strings.ToLower(have))
	case map[string]any:
		have, ok := have.(map[string]any)
		for name, value := range want {
			item, given := have[name]
			if !given || !fits(value, item) {
				return false
			}
		}
		return ok
	case []any:
		have, ok := have.([]any)
		for _, value := range want {
			if !slices.ContainsFunc(have, func(item any) bool { return fits(value, item) }) {
				return false
			}
		}
		return ok
	case json.Number:
		return rules{}.covers(want, have)
	}
	return want == have
}

// matches matches a text against a pattern in which * is any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}
