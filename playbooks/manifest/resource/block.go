package resource

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// blockLists are the keys of a block that hold resources, in the order in which they run.
var blockLists = []string{"block", "rescue", "always"}

// isBlock reports whether an item of a list of resources is a block, or a part of one.
func isBlock(item *yamlpos.Node) bool {
	return slices.ContainsFunc(item.Pairs, func(p yamlpos.Pair) bool { return slices.Contains(blockLists, p.Key.Text) })
}

// block reads a block, and the resources in it.
func (rd *Reader) block(ctx context.Context, item *yamlpos.Node) []*manifest.Resource {
	rest := without(item)
	var lists [3]*yamlpos.Node
	for _, pair := range item.Pairs {
		key := pair.Key.Text
		_, isType := rd.Registry.Lookup(key)
		switch part := slices.Index(blockLists, key); {
		case !rd.Values.LiteralKey(pair.Key):
		case part >= 0:
			lists[part] = rd.blockList(pair)
		case slices.Contains(keys.OfBlock, key): // user is a type as well
			rest.Pairs = append(rest.Pairs, pair)
		case isType:
			rd.Report.Add(pair.Key.Errorf("move the resource into the block: - block: [{"+key+": [...]}]", "the resource type %s is on the same level as a block", key))
		default:
			rd.Report.Add(pair.Key.Errorf(blockHint(rd.Registry, key), "a block cannot have the key %q", key))
		}
	}
	if item.Get("block") == nil {
		at := item.Pairs[slices.IndexFunc(item.Pairs, func(p yamlpos.Pair) bool { return slices.Contains(blockLists, p.Key.Text) })].Key
		rd.Report.Add(at.Errorf("on the same level, write a block with the resources that can fail: - block: [...]", "the block for %q is missing", at.Text))
	}
	r := rd.blockItself(ctx, item, rest)
	inner := *rd
	inner.Defaults = withUser(rd.Defaults, keys.Given(rest.Get("user")))
	inner.elsewhereOf(rest)
	var parts [3][]*manifest.Resource
	for i, list := range lists {
		if list == nil {
			continue
		}
		parts[i] = inner.List(ctx, list)
		if blockLists[i] == "rescue" {
			manifest.WalkFile(parts[i], rd.checkRescue)
		}
	}
	all := slices.Concat(parts[:]...)
	r.Block = &manifest.Block{Rescue: len(parts[1]), Always: len(parts[2])}
	r.Child = &manifest.Play{
		Name: r.Name.Node.Text, File: item.File, Folder: rd.Folder, Strict: rd.Strict, Registry: rd.Registry, PerHost: rd.PerHost, Resources: all,
	}
	for _, one := range all {
		one.In = r
	}
	manifest.WalkFile(all, func(one *manifest.Resource) {
		one.Tags = slices.Concat(r.Tags, one.Tags)
		one.Conditional = one.Conditional || !r.Unconditional()
	})
	return []*manifest.Resource{r}
}

// blockList returns the list of resources below a key of a block; nil means none.
func (rd *Reader) blockList(pair yamlpos.Pair) *yamlpos.Node {
	key, list := pair.Key.Text, pair.Value
	switch {
	case keys.Given(list) == nil, list.Kind == yamlpos.List && len(list.Items) == 0:
		hint := "remove it"
		if key == "block" {
			hint = "write a list: - block: [{exec: [...]}]"
		}
		rd.Report.Add(pair.Key.Errorf(hint, "%q has no resources", key))
	case list.Kind != yamlpos.List:
		rd.Report.Add(list.Errorf("write a list: - file: [...]", "%q is not a list of resources", key))
	default:
		return list
	}
	return nil
}

// blockItself reads a block's settings for all of its resources.
func (rd *Reader) blockItself(ctx context.Context, item, rest *yamlpos.Node) *manifest.Resource {
	name := keys.Scalar(rest.Get("name"))
	if name == nil {
		unnamed := *item
		unnamed.Kind, unnamed.Pairs = yamlpos.Scalar, nil
		unnamed.Text = fmt.Sprintf("%s:%d", path.Base(filepath.ToSlash(item.File)), item.Line)
		unnamed.Value = unnamed.Text
		name = &unnamed
	}
	r := &manifest.Resource{Type: manifest.BlockType(), Name: rd.Values.Value(name)}
	r.Properties = manifest.Literal(&yamlpos.Node{File: item.File, Line: item.Line, Column: item.Column, Kind: yamlpos.Map})
	var own, common yamlpos.Node
	own, common = *without(rest), *without(rest)
	for _, pair := range rest.Pairs {
		if key := pair.Key.Text; key == "name" || key == "user" {
			own.Pairs = append(own.Pairs, pair)
		} else {
			common.Pairs = append(common.Pairs, pair)
		}
	}
	rd.Report.Decode(&own, &keys.Block{}, yamlpos.Open(rd.Values.IsOpen))
	rd.common(ctx, r, &common)
	return r
}

// blockHint returns the hint about the replacement of a key that a block does not have.
func blockHint(types modules.Registry, key string) string {
	var properties []string
	for _, t := range types {
		properties = append(properties, manifest.PropertyNames(t)...)
	}
	switch foreign, ok := ansible.TaskKeys[key]; {
	case key == "subscribe":
		return "write the key in the resources of the block"
	case ok && foreign.Here == "":
		return foreign.Hint
	case ansible.PlayKeys[key] != "":
		return ansible.PlayKeys[key]
	case slices.Contains(keys.OfPlay, key) && !slices.Contains(keys.OfResource, key):
		return "write the key at the play"
	case slices.Contains(keys.OfResource, key), slices.Contains(properties, key):
		return "write the key in the resources of the block"
	}
	switch near := yamlpos.Suggest(key, slices.Concat(keys.OfBlock, keys.OfResource, keys.OfPlay, properties)); {
	case slices.Contains(keys.OfBlock, near):
		return fmt.Sprintf("did you mean %q?", near)
	case near != "":
		return fmt.Sprintf("did you mean %q? %s", near, blockHint(types, near))
	}
	return "write the key in the resources of the block"
}

// checkRescue refuses keys that do not fit a resource which most runs skip.
func (rd *Reader) checkRescue(r *manifest.Resource) {
	for _, key := range r.Exports {
		rd.Report.Add(key.Errorf(`move the export to a resource in "block" or "always"`, `resources in "rescue" cannot export values, because "rescue" runs only if the block fails`))
		return
	}
}

// withUser adds a user to the defaults of a play, for exec resources without one.
func withUser(defaults, user *yamlpos.Node) *yamlpos.Node {
	if user == nil {
		return defaults
	}
	at := func(text string) *yamlpos.Node { n := *user; n.Text, n.Value = text, text; return &n }
	exec := &yamlpos.Node{File: user.File, Line: user.Line, Column: user.Column, Kind: yamlpos.Map, Pairs: []yamlpos.Pair{{Key: at("user"), Value: user}}}
	all := *exec
	all.Pairs = nil
	if keys.Given(defaults) != nil && defaults.Kind == yamlpos.Map {
		for _, pair := range defaults.Pairs {
			switch {
			case pair.Key.Text != "exec":
				all.Pairs = append(all.Pairs, pair)
			case pair.Value.Kind == yamlpos.Map:
				exec.Pairs = append(exec.Pairs, slices.DeleteFunc(slices.Clone(pair.Value.Pairs), func(p yamlpos.Pair) bool { return p.Key.Text == "user" })...)
			}
		}
	}
	all.Pairs = append(all.Pairs, yamlpos.Pair{Key: at("exec"), Value: exec})
	return &all
}
