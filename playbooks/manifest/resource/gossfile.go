package resource

import (
	"context"
	"path"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// maxGossfiles bounds how deep files of rules include each other.
const maxGossfiles = 10

// gossfileKey is the kind of rules of goss that names files with more of them.
const gossfileKey = "gossfile"

// GossRules are the rules in one file.
type GossRules struct {
	Folder string // folder of the file, relative to the play unless the play names an absolute path
	Rules  *yamlpos.Node
}

// withGossfiles returns health checks with the rules of the files that their goss_rules name.
func (rd *Reader) withGossfiles(ctx context.Context, checks *yamlpos.Node) *yamlpos.Node {
	if rd.Rules == nil || !slices.ContainsFunc(checks.Items, func(item *yamlpos.Node) bool {
		rules := item.Get("goss_rules")
		return rules != nil && rules.Get(gossfileKey) != nil
	}) {
		return checks
	}
	whole := *checks
	whole.Items = slices.Clone(checks.Items)
	for i, item := range whole.Items {
		check := *item
		check.Pairs = slices.Clone(item.Pairs)
		for j, pair := range check.Pairs {
			if pair.Key.Text == "goss_rules" {
				check.Pairs[j].Value = rd.rules(ctx, pair.Value, ".", 0)
			}
		}
		whole.Items[i] = &check
	}
	return &whole
}

// rules adds the rules of the files that rules of goss name. Names are relative to a folder of the play.
func (rd *Reader) rules(ctx context.Context, n *yamlpos.Node, folder string, depth int) *yamlpos.Node {
	files := n.Get(gossfileKey)
	if files == nil {
		return n
	}
	whole := *n
	whole.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p yamlpos.Pair) bool { return p.Key.Text == gossfileKey })
	for _, pair := range files.Pairs {
		at := pair.Key
		if file := keys.Given(pair.Value.Get("file")); file != nil {
			at = file
		}
		switch skip := pair.Value.Get("skip"); {
		case skip != nil && skip.Value == true:
			continue
		case rd.Values.LiteralText("a gossfile", at) == nil:
			continue
		case depth == maxGossfiles:
			rd.Report.Add(at.Errorf("", "files of rules include each other more than %d levels deep", maxGossfiles))
			continue
		}
		named := *at
		if !path.IsAbs(at.Text) {
			named.Text = path.Join(folder, at.Text)
		}
		for _, file := range rd.Rules(ctx, &named) {
			rd.merge(&whole, rd.rules(ctx, file.Rules, file.Folder, depth+1))
		}
	}
	return &whole
}

// merge adds rules to others. A rule of the same kind and name is an error.
func (rd *Reader) merge(into, from *yamlpos.Node) {
	for _, kind := range from.Pairs {
		i := slices.IndexFunc(into.Pairs, func(p yamlpos.Pair) bool { return p.Key.Text == kind.Key.Text })
		if i < 0 {
			into.Pairs = append(into.Pairs, kind)
			continue
		}
		both := *into.Pairs[i].Value
		both.Pairs = slices.Clone(both.Pairs)
		for _, rule := range kind.Value.Pairs {
			if other := both.Get(rule.Key.Text); other != nil {
				rd.Report.Add(rule.Key.Errorf("", "there are two rules for %s %q; the other one is at %s", kind.Key.Text, rule.Key.Text, other.Pos()))
				continue
			}
			both.Pairs = append(both.Pairs, rule)
		}
		into.Pairs[i].Value = &both
	}
}
