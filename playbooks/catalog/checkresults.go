package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog/sets"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A resultCheck holds what resources read of results against what the resources before them
// register, as far as both are known before any host is.
type resultCheck struct {
	manifests *loadedManifests
	inGraph   bool
	all       map[string][]*manifest.Resource // resources that register a name, anywhere
	before    map[string]*manifest.Resource   // the last one so far that does
	set       map[string]bool                 // keys of the data that resources set
	anything  bool                            // some manifests are known only per host
	errs      yamlpos.Errors
}

// checkResults checks the names and fields of results that the play and the manifests that it applies read. It notes
// whether any result is registered.
func (c *Compiler) checkResults() error {
	x := resultCheck{
		manifests: c.manifests, inGraph: c.play.Graph(), all: map[string][]*manifest.Resource{}, before: map[string]*manifest.Resource{},
		set: setKeys(c.play.Resources), anything: c.play.JetFile != nil,
	}
	manifest.Walk(c.play.Resources, func(r *manifest.Resource, _ int) {
		x.anything = x.anything || r.Unknown()
		if r.Register != nil {
			x.all[r.Register.Text] = append(x.all[r.Register.Text], r)
		}
	})
	c.registers = x.anything || len(x.all) > 0 || len(x.set) > 0
	if paths, all := c.inputs.Results(); !c.registers && !all && len(paths) == 0 {
		return nil
	}
	x.manifest(c.root)
	slices.SortStableFunc(x.errs, func(a, b *yamlpos.Error) int { return a.Line - b.Line }) // of maps
	return manifest.Distinct(x.errs)
}

// manifest checks the resources of a manifest, and of the manifests that they apply, in the order in which they run.
func (x *resultCheck) manifest(m *loadedManifest) {
	for _, message := range []*manifest.Value{m.play.Pre, m.play.Post} {
		if message == nil {
			continue
		}
		if paths, _ := message.Inputs(m.files).Data(); slices.ContainsFunc(paths, func(path string) bool { return x.set[sets.FirstKey(path)] }) {
			x.errs.Add(message.Node.Errorf("remove the expression", "a message cannot use values that a resource sets"))
		}
		if paths, _ := message.Inputs(m.files).Results(); len(paths) > 0 {
			x.errs.Add(message.Node.Errorf("remove the expression", "a message cannot use the results of resources"))
		}
	}
	here := map[string]*yamlpos.Node{} // the names that this manifest has registered
	for _, r := range m.play.Resources {
		if !r.Unselected {
			r.EachInputs(m.files, func(at *yamlpos.Node, reads templates.Inputs) { x.reads(r, at, reads) })
		}
		if !r.Unselected && r.Subscribe != nil {
			x.subscribes(r, m.files)
		}
		if r.Child != nil && !r.Unselected {
			if inner, err := x.manifests.applied(m, r, r.Child); err == nil { // else it has been reported
				x.manifest(inner)
			}
		}
		if x.inGraph && manifest.Sets(r.Type) {
			x.errs.Add(r.Name.Node.Errorf("remove strategy: graph", `"set" needs resources that run in the order written`))
		}
		if r.Register == nil {
			continue
		}
		name := r.Register.Text
		switch other := here[name]; {
		case x.inGraph:
			x.errs.Add(r.Register.Errorf(`remove strategy: graph, or pass values with "recv"`,
				`"register" needs resources that run in the order written`))
		case other != nil:
			x.errs.Add(r.Register.Errorf(`write a different name after each register:, even if "control" runs only one of the two resources`,
				"another resource also registers Results.%s, at %s", name, other.Pos()))
		}
		if here[name] = r.Register; !r.Unselected {
			x.before[name] = r
		}
	}
}

// reads checks what a part of a resource reads.
func (x *resultCheck) reads(r *manifest.Resource, at *yamlpos.Node, reads templates.Inputs) {
	paths, _ := reads.Results()
	for _, path := range paths {
		keys := strings.Split(path, ".")
		name := keys[0]
		from := x.before[name]
		if from == nil {
			x.errs.Add(x.unregistered(r, at, name))
			continue
		}
		field := ""
		if len(keys) > 1 {
			field = keys[1]
		}
		_, notNumber := strconv.Atoi(field)
		switch {
		case field == "":
		case from.Each != nil && notNumber != nil:
			x.errs.Add(at.Errorf("write Results."+name+"[0]."+field+" for the first element, or any(Results."+name+", #."+field+") to test whether at least one element is true",
				`%s has the key "each", so Results.%s is a list of results, one for each element`, from.Ref(), name))
		case from.Each == nil && !slices.Contains(outcomeFields, field) && !slices.Contains(saidFields, field):
			x.errs.Add(at.Errorf(suggestField(field), "Results.%s.%s does not exist: a result has no key %q", name, field, field))
		}
	}
}

// subscribes refuses names that are made of results where a refresh may be due to the resource: a
// run that ends before they are known would lose it.
func (x *resultCheck) subscribes(r *manifest.Resource, files *templates.Files) {
	for _, v := range []*manifest.Value{&r.Name, r.Each} {
		if v == nil {
			continue
		}
		if paths, all := v.Inputs(files).Results(); all && len(x.before) > 0 || len(paths) > 0 {
			x.errs.Add(v.Node.Errorf(`write a fixed name; to skip the resource on a condition, use "control"`, `a resource with "subscribe" cannot use Results (results of other resources) in its name or in the key "each"`))
		}
	}
}

// unregistered is the error for a name that no resource before r registers; nil if that cannot be
// known.
func (x *resultCheck) unregistered(r *manifest.Resource, at *yamlpos.Node, name string) error {
	if all := x.all[name]; len(all) > 0 {
		other := all[0]
		switch {
		case other == r:
			return at.Errorf("use Results."+name+" only in later resources", "Results.%s does not exist yet: this resource itself registers it", name)
		case other.Unselected:
			return at.Errorf("select it too, or remove this resource", "Results.%s is registered by %s (%s), which --tags, --skip-tags or --start-at skip",
				name, other.Ref(), other.Name.Node.Pos())
		}
		return at.Errorf("move this resource after "+other.Ref(), "Results.%s does not exist yet: %s registers it later (%s)", name, other.Ref(), other.Name.Node.Pos())
	}
	if x.anything {
		return nil
	}
	var known []string
	for name := range x.all {
		known = append(known, name)
	}
	slices.Sort(known)
	hint := "write register: " + name + " at an earlier resource"
	if meant := yamlpos.Suggest(name, known); meant != "" {
		hint = "did you mean Results." + meant + "?"
	}
	return at.Errorf(hint, "no resource registers a result with the name %q", name)
}

// suggestField returns a hint about the fields of a result.
func suggestField(field string) string {
	all := slices.Concat(outcomeFields, saidFields)
	if meant := yamlpos.Suggest(field, all); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	slices.Sort(all)
	return "a result has the keys " + strings.Join(all, ", ")
}
