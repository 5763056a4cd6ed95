package share

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// A Run is plays and the hosts of each, as they are before any host is contacted.
type Run struct {
	Inventory *inventory.Inventory
	Plays     []*manifest.Play
	Hosts     [][]*inventory.Host // hosts of each play; nil if they are not known
	First     [][]*inventory.Host // hosts that begin first: a batch of each play
	Limited   bool                // so --limit may have left a host out
}

// Check reports imports that no run could satisfy: of hosts that are not in it, or that
// come too late. The errors have positions.
func (r Run) Check() error {
	c := importCheck{run: r}
	for _, p := range r.Plays {
		c.exports = append(c.exports, exportsOf(p))
	}
	for n, p := range r.Plays {
		manifest.Walk(p.Resources, func(one *manifest.Resource, _ int) {
			if one.Unselected {
				return
			}
			for _, imp := range one.Imports {
				c.errs.Add(c.importOf(n, one, imp))
			}
		})
	}
	return manifest.Distinct(c.errs)
}

type importCheck struct {
	run     Run
	exports []*exportIndex // exports by number of the play
	errs    yamlpos.Errors
}

// importOf checks one value that a resource of a play imports.
func (c *importCheck) importOf(play int, r *manifest.Resource, imp manifest.Import) error {
	if c.run.Hosts != nil && c.run.Inventory.Host(imp.Host.Text) == nil {
		return imp.Host.Errorf(c.suggestHost(imp.Host.Text), "no host of the inventory is called %q", imp.Host.Text)
	}
	from := play
	for ; from >= 0; from-- {
		if c.takesPart(from, imp.Host.Text) && c.exports[from].mayExport(imp.Ref, imp.Key) {
			break
		}
	}
	switch {
	case from < 0:
		return c.notExported(play, imp)
	case from == play:
		return c.inTime(play, r, imp)
	}
	return nil
}

func (c *importCheck) takesPart(play int, host string) bool {
	return c.run.Hosts == nil || slices.ContainsFunc(c.run.Hosts[play], func(h *inventory.Host) bool { return h.Name == host })
}

func (c *importCheck) suggestHost(name string) string {
	var known []string
	for _, h := range c.run.Inventory.Hosts() {
		known = append(known, h.Name)
	}
	if s := yamlpos.Suggest(name, known); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return ""
}

// notExported returns why no host exports a value up to the play that imports it.
func (c *importCheck) notExported(play int, imp manifest.Import) error {
	for n, x := range c.exports {
		switch name := c.run.Plays[n].Name; {
		case !x.mayExport(imp.Ref, imp.Key):
		case n > play:
			return imp.From.Errorf("move the play that receives it after that play", "%s gives %s only later, in play %q", imp.Ref, imp.Key, name)
		default:
			hint := fmt.Sprintf(`set "host" to a host of the play %q`, name)
			if c.run.Limited {
				hint += ", or include " + imp.Host.Text + " in --limit"
			}
			return imp.Host.Errorf(hint, "%s is in the play %q, which does not run on the host %s", imp.Ref, name, imp.Host.Text)
		}
	}
	var called []exporter
	for _, x := range c.exports {
		called = append(called, x.called[imp.Ref]...)
	}
	switch {
	case len(called) == 0:
		return imp.From.Errorf("", "no resource is called %s", imp.Ref)
	case called[0].resource.Unselected:
		return imp.From.Errorf("change --tags, --skip-tags or --start-at so that they select it", "%s is not selected in this run", imp.Ref)
	}
	return imp.From.Errorf(fmt.Sprintf("write there export: [%s]", imp.Key), "%s, at %s, does not export %q", imp.Ref, called[0].resource.Name.Node.Pos(), imp.Key)
}

// inTime checks that a resource which exports a value runs before the one of the same
// play that imports it.
func (c *importCheck) inTime(play int, r *manifest.Resource, imp manifest.Import) error {
	x := c.exports[play]
	if !x.isOpen(imp.Ref) {
		found := slices.DeleteFunc(slices.Clone(x.called[imp.Ref]), func(e exporter) bool { return e.resource.Unselected || !e.exports(imp.Key) })
		if first := found[0]; first.number >= x.number[r] {
			if circle := x.circle(r, first.resource); circle != "" {
				return imp.From.Errorf("remove one of these references", "hosts would wait for each other in a circle: %s", circle)
			}
			return imp.From.Errorf("move "+imp.Ref+" above the resource that receives its value", "%s is defined later, at %s", imp.Ref, first.resource.Name.Node.Pos())
		}
	}
	if !r.Unconditional() || c.run.Hosts == nil {
		return nil
	}
	first := c.run.First[play]
	if slices.ContainsFunc(first, func(h *inventory.Host) bool { return h.Name == imp.Host.Text }) {
		return nil
	}
	return imp.Host.Errorf(fmt.Sprintf("move %s into an earlier play", imp.Ref),
		"%s cannot receive a value from %s, because %[2]s runs in a later batch", first[0].Name, imp.Host.Text)
}

// circle returns the route from one resource over another one back to it, along their imports; empty if there is none.
func (x *exportIndex) circle(r, over *manifest.Resource) string {
	been := map[*manifest.Resource]bool{}
	path := []string{r.Ref(), over.Ref()}
	var walk func(at *manifest.Resource) bool
	walk = func(at *manifest.Resource) bool {
		if been[at] {
			return at == r
		}
		been[at] = true
		for _, imp := range at.Imports {
			for _, e := range x.called[imp.Ref] {
				path = append(path, e.resource.Ref())
				if e.resource == r || walk(e.resource) {
					return true
				}
				path = path[:len(path)-1]
			}
		}
		return false
	}
	if over == r {
		return r.Ref() + " → " + r.Ref()
	}
	if !walk(over) {
		return ""
	}
	return strings.Join(path, " → ")
}
