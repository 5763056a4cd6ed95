package manifest

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// maxIncludes is how deep manifests may include each other.
const maxIncludes = 10

// include reads the plays of another file. They keep their own folder; what the
// including play says of hosts, escalation and batches stands in the place of
// theirs, its data over theirs, and its tags beside theirs.
func (l *loader) include(p *Play, n, path *yamlpos.Node) []*Play {
	for _, pair := range n.Pairs {
		if key := pair.Key.Text; slices.Contains(keys.NotBesideInclude, key) {
			l.add(pair.Key.Errorf("write it into the included manifest", "%s cannot stand beside include", key))
		}
	}
	if l.literalText("include", path) == nil {
		return nil
	}
	inner, ok := l.enter(path, l.overrides(p, n))
	if !ok {
		return nil
	}
	documents, ok := l.readBeside(path, "manifest")
	if !ok {
		return nil
	}
	plays := inner.documents(documents)
	l.errs = append(l.errs, inner.errs...)
	l.warnings = append(l.warnings, inner.warnings...)
	if given(n.Get("name")) != nil && len(plays) > 1 {
		l.add(n.Get("name").Errorf("leave it out: each has a name of its own", "a name for the %d plays of %s", len(plays), inner.file))
	}
	for _, one := range plays {
		l.overlay(one, p, n)
	}
	return plays
}

// enter makes the loader of an included file, unless that includes itself or the
// chain is too long.
func (l *loader) enter(path *yamlpos.Node, over ordering) (*loader, bool) {
	inner := newLoader(l.beside(path), l.registry)
	inner.nesting, inner.runs = l.nesting, l.runs
	inner.ordered = over
	inner.parameters = l.parameters
	inner.file, inner.confined = l.confined.Call(inner.file), l.confined
	inner.chain = append(slices.Clone(l.chain), l.file)
	switch chain := strings.Join(append(slices.Clone(inner.chain), inner.file), " → "); {
	case slices.Contains(inner.chain, inner.file):
		l.add(path.Errorf("", "circular include: %s", chain))
		return nil, false
	case len(inner.chain) > maxIncludes:
		l.add(path.Errorf("", "manifests include each other more than %d levels deep: %s", maxIncludes, chain))
		return nil, false
	}
	return inner, true
}

// overrides is what the including play says of the order of resources: that decides
// which references are right, so it is known before they are read.
func (l *loader) overrides(p *Play, n *yamlpos.Node) ordering {
	over := l.ordered
	if given(n.Get("strategy")) != nil {
		over.strategy = p.Strategy
	}
	if given(n.Get("parallel")) != nil {
		over.parallel = p.Parallel
	}
	return over
}

// overlay lays what the including play says over an included one.
func (l *loader) overlay(p, over *Play, n *yamlpos.Node) {
	for key, set := range map[string]func(){
		"name":                func() { p.Name = over.Name },
		"hosts":               func() { p.Hosts = over.Hosts },
		"become":              func() { p.Become = over.Become },
		"become_user":         func() { p.BecomeUser = over.BecomeUser },
		"become_method":       func() { p.BecomeMethod = over.BecomeMethod },
		"serial":              func() { p.Serial = over.Serial },
		"max_fail_percentage": func() { p.MaxFail = over.MaxFail },
	} {
		if given(n.Get(key)) != nil {
			set()
		}
	}
	p.Tags = append(slices.Clone(p.Tags), over.Tags...)
	p.Over = append(p.Over, over.Data)
}
