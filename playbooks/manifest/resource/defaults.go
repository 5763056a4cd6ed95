package resource

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// CheckDefaults looks at the defaults of the play by themselves: there may be no resource
// that needs them.
func (rd *Reader) CheckDefaults(ctx context.Context) {
	if keys.Given(rd.Defaults) == nil {
		return
	}
	if rd.Defaults.Kind != yamlpos.Map {
		rd.Report.Add(rd.Defaults.Errorf("write defaults: {owner: root, exec: {timeout: 5m}}", `"defaults" must be a map, not %s`, rd.Defaults.Describe()))
		rd.Defaults = nil
		return
	}
	for _, pair := range rd.Defaults.Pairs {
		t, isType := rd.Registry.Lookup(pair.Key.Text)
		switch {
		case !rd.Values.LiteralKey(pair.Key), keys.Given(pair.Value) == nil && (isType || keys.OfEveryDefault(pair.Key.Text)):
		case isType && pair.Value.Kind == yamlpos.Map:
			rd.checkDefaults(ctx, t, pair.Value)
		case keys.OfEveryDefault(pair.Key.Text):
			rd.checkWide(ctx, pair)
		case isType:
			rd.Report.Add(pair.Value.Errorf("", "the defaults of %s must be a map, not %s", t.Name, pair.Value.Describe()))
		default:
			rd.Report.Add(rd.unknownDefault(pair.Key))
		}
	}
}

// checkWide checks a default of all types as one of the first type that it is for.
func (rd *Reader) checkWide(ctx context.Context, pair yamlpos.Pair) {
	for _, t := range rd.Registry {
		if isFor(t, pair.Key.Text) {
			one := without(rd.Defaults)
			one.Pairs = []yamlpos.Pair{pair}
			rd.checkDefaults(ctx, t, one)
			return
		}
	}
}

func (rd *Reader) unknownDefault(key *yamlpos.Node) error {
	hint := ""
	if types := rd.typesWith(key.Text); len(types) > 0 {
		hint = "write it below its type: " + types[0] + ": {" + key.Text + ": ...}"
	} else if slices.Contains(keys.OfResource, key.Text) {
		hint = "write it at the resources, or below a type: exec: {" + key.Text + ": ...}"
	} else if near := yamlpos.Suggest(key.Text, slices.Concat(rd.Registry.Names(), keys.Defaults)); near != "" {
		hint = `did you mean "` + near + `"?`
	} else {
		hint = "it has types, and for all of them " + strings.Join(keys.Defaults, ", ")
	}
	return key.Errorf(hint, `"defaults" has no key %q`, key.Text)
}

// isFor reports whether a default for all types applies to this type: keys of every type, or owner keys of files.
func isFor(t modules.Type, key string) bool {
	switch _, applies := t.New().(modules.Nester); {
	case !keys.OfEveryDefault(key), applies && slices.Contains(keys.OfMeta, key) && key != "autoedge" && key != "watch":
		return false
	case slices.Contains(keys.OfResource, key):
		return true
	}
	return t.HasProperty("owner") && t.HasProperty(key)
}

// ofPlay returns the play's defaults for a type; nil means none.
func (rd *Reader) ofPlay(t modules.Type) *yamlpos.Node {
	if keys.Given(rd.Defaults) == nil || rd.Defaults.Kind != yamlpos.Map {
		return nil
	}
	all := without(rd.Defaults)
	if own := rd.Defaults.Get(t.Name); own != nil && own.Kind == yamlpos.Map {
		all.Pairs = slices.Clone(own.Pairs)
	}
	for _, pair := range rd.Defaults.Pairs {
		key := pair.Key.Text
		_, isType := rd.Registry.Lookup(key)
		switch {
		case keys.Given(pair.Value) == nil, !isFor(t, key), isType && pair.Value.Kind == yamlpos.Map:
		case manifest.GetProperty(t, all, manifest.CanonicalProperty(t, key)) == nil:
			all.Pairs = append(all.Pairs, pair)
		}
	}
	return all
}

// withPlay merges the properties of a resource over the play's defaults for its type. A default that has no meaning
// without another property is omitted if the resource does not have that property.
func withPlay(t modules.Type, entry yamlpos.Pair, defaults *yamlpos.Node) *yamlpos.Node {
	if defaults == nil || keys.Given(entry.Value) != nil && entry.Value.Kind != yamlpos.Map {
		return withDefaults(t, entry, nil)
	}
	fitting := *defaults
	fitting.Pairs = slices.DeleteFunc(slices.Clone(defaults.Pairs), func(pair yamlpos.Pair) bool {
		for _, f := range modules.Fields(t.New()) {
			if f.Name == pair.Key.Text && f.With != "" {
				with := keys.Given(manifest.GetProperty(t, defaults, f.With))
				if own := keys.Given(entry.Value); own != nil {
					with = cmp.Or(keys.Given(manifest.GetProperty(t, own, f.With)), with)
				}
				return with == nil || with.Value == false
			}
		}
		return false
	})
	return withDefaults(t, entry, &fitting)
}
