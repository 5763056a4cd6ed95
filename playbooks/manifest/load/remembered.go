package load

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// rememberedAs reads the name of a play for its hosts. It is no expression: hosts compare
// it with what they have kept.
func (f *file) rememberedAs(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || f.values.LiteralText("remembered_as", n) == nil {
		return nil
	}
	if err := modules.CheckRememberedAs(n.Text); err != nil {
		f.report.Add(n.Errorf("write something like acme/web-base", "%v", err))
	}
	return n
}

// onePlayEach refuses plays that hosts would take for one another: each would undo what
// the other one has.
func onePlayEach(plays []*manifest.Play) error {
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
