package manifest

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// checkReverse refuses what could not be undone, whatever the host has. n are the common
// keys of the resource.
func (l *loader) checkReverse(r *Resource, n *yamlpos.Node) {
	pair := slices.IndexFunc(n.Pairs, func(p yamlpos.Pair) bool { return p.Key.Text == "reverse" })
	if pair < 0 || n.Pairs[pair].Value.Value == false || r.Applies() {
		return
	}
	at := n.Pairs[pair].Key
	_, can := r.Type.New().(modules.Reverser)
	switch {
	case !can:
		l.add(at.Errorf("these can: "+strings.Join(l.registry.Reversers(), ", "), "type %s cannot be undone", r.Type.Name))
	case l.isNested:
		l.add(at.Errorf("write the resource into the play itself: which resources a nested manifest has is not always known", "reverse cannot stand in a nested manifest"))
	case !l.remembered:
		l.add(at.Errorf("write remembered_as: OWNER/NAME in the play, a name that no other manifest for its hosts has", "reverse needs a name by which hosts remember the play"))
	}
}

// rememberedAs reads the name of a play for its hosts. It is no expression: hosts compare
// it with what they have kept.
func (l *loader) rememberedAs(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || l.literalText("remembered_as", n) == nil {
		return nil
	}
	if err := modules.CheckRememberedAs(n.Text); err != nil {
		l.add(n.Errorf("write something like acme/web-base", "%v", err))
	}
	return n
}

// onePlayEach refuses plays that hosts would take for one another: each would undo what
// the other one has.
func onePlayEach(plays []*Play) error {
	var errs yamlpos.Errors
	first := map[string]*yamlpos.Node{}
	for _, p := range plays {
		n := p.RememberedAs
		if n == nil {
			continue
		}
		if other := first[n.Text]; other != nil {
			errs.Add(n.Errorf("give each play a name of its own", "another play is remembered_as %s already: %s", n.Text, other.Pos()))
			continue
		}
		first[n.Text] = n
	}
	return errs.Err()
}

// all reports whether everything is selected, but for what asks not to be.
func (s *Selection) all() bool {
	return s == nil || len(s.Tags)+len(s.Skip) == 0 && s.StartAt == ""
}

// Whole reports whether the run is about the whole play.
func (p *Play) Whole() bool { return p.selection.all() }

// LiteralRefs names the resources of the play, as type#name, as far as they are known
// before any host is.
func (p *Play) LiteralRefs() []string {
	var refs []string
	Walk(p.Resources, func(r *Resource, _ int) {
		if !r.Name.HasExpressions() && !r.Unselected {
			refs = append(refs, r.Ref())
		}
	})
	return refs
}
