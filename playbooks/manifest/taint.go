package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// A Taint describes which parts of a resource hosts can influence by their facts. Its checks refuse choices that a host
// must not make: files that are meant for another host, manifests, and requests that the controller sends.
type Taint struct {
	resource *Resource
	seen     templates.Taint // taint that the expressions and templates of the resource see
}

// Taint returns the taint of the resource. data has the keys of the manifest's data that are made of facts, and sources all
// of its data: the resource's own vars, and the element of its each, may make more of it tainted.
func (r *Resource) Taint(data map[string]bool, sources ...templates.Source) Taint {
	return Taint{r, taintFor(data, sources, r)}
}

// taintFor returns the taint that a resource sees, in the blocks around it.
func taintFor(data map[string]bool, sources []templates.Source, r *Resource) templates.Taint {
	seen := templates.Taint{Data: data}
	if r.In != nil {
		seen = taintFor(data, sources, r.In)
	}
	sources = append(slices.Clip(sources), VarsAround(r)...)
	for {
		before := seen.Item
		if r.Vars != nil || seen.Item && slices.ContainsFunc(sources, templates.Source.NamesItem) {
			seen.Data = templates.SpreadTaint(seen, sources...)
		}
		// An element of its own each, or of a surrounding block's.
		if seen.Item = seen.Item || r.Each.FromHost(seen); seen.Item == before {
			return seen
		}
	}
}

// VarsAround returns the vars of a resource and of the blocks around it.
func VarsAround(r *Resource) (all []templates.Source) {
	for ; r != nil; r = r.In {
		if r.Vars != nil {
			all = append(all, *r.Vars)
		}
	}
	return all
}

// fromHost reports whether any part of a node of the properties can hold what a host sent.
func (t Taint) fromHost(n *yamlpos.Node) bool { return t.resource.Properties.fromHost(n, t.seen) }

// CheckPaths reports the files of the play that a host could choose, in properties and in
// templates, and what the other checks report.
func (t Taint) CheckPaths(files *templates.Files) error {
	r := t.resource
	var errs yamlpos.Errors
	errs.Add(t.CheckPlayFiles())
	errs.Add(t.checkTree(files))
	errs.Add(t.CheckNested())
	errs.Add(t.CheckDownload(r.Requirements().Downloads))
	errs.Add(t.checkElsewhere())
	for _, e := range r.conditions() {
		errs.Add(e.CheckPaths(files, t.seen))
	}
	for _, v := range r.values() {
		errs.Add(v.CheckPaths(files, t.seen))
	}
	return errs.Err()
}

// CheckPlayFiles refuses names of files of the play, in properties, that facts decide.
func (t Taint) CheckPlayFiles() error {
	properties := &t.resource.Properties
	var errs yamlpos.Errors
	var check func(*yamlpos.Node)
	check = func(n *yamlpos.Node) {
		if n == nil {
			return
		}
		for _, item := range n.Items {
			check(item)
		}
		if text := properties.texts[n]; text != nil && text.FromHost(t.seen) {
			errs.Add(n.Errorf(`choose between fixed file names, such as "{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}", or use data of the inventory`,
				"data from a host cannot choose which file ccm-push reads"))
		}
	}
	res := t.resource.Type.New()
	var reading []string // other settings that decide how files of the play are read
	if tree := modules.RequirementsOf(res).Tree; tree != nil {
		reading = tree.From
	}
	for _, f := range modules.Fields(res) {
		n := properties.Node.Get(f.Name)
		switch {
		case f.PlayFile, f.PlayTree:
			check(n)
		case n != nil && slices.Contains(reading, f.Name) && t.fromHost(n):
			errs.Add(n.Errorf("use data of the inventory", "data from a host cannot choose the template engine or delimiters"))
		}
	}
	return errs.Err()
}

// CheckDownload refuses properties of a download by the controller that facts decide: the
// controller would send a request of the host's choice, with credentials that are not the
// host's. from names the properties of the request.
func (t Taint) CheckDownload(from []string) error {
	var errs yamlpos.Errors
	for _, name := range from {
		if n := t.resource.PropertySet().Get(name); n != nil && t.fromHost(n) {
			errs.Add(n.Errorf(`choose between fixed values, such as "{{ Facts.x == 'y' ? 'a' : 'b' }}", use data of the inventory, or let the host download it`,
				"data from a host cannot choose a download of the controller"))
		}
	}
	return errs.Err()
}

// CheckNested refuses what facts may not decide about a nested manifest: which one it is,
// its checksum, and all of its data at once.
func (t Taint) CheckNested() error {
	r := t.resource
	if !r.Applies() {
		return nil
	}
	var errs yamlpos.Errors
	checksum := r.PropertySet().Get("checksum")
	if r.Name.FromHost(t.seen) {
		errs.Add(r.Name.Node.Errorf("use data of the inventory; or write one resource for each manifest, each with a condition such as control: {if: Facts.x == 'y'}", "data from a host cannot be used as the name of a manifest"))
	}
	if checksum != nil && t.fromHost(checksum) {
		errs.Add(checksum.Errorf("", "data from a host cannot be used as the checksum of a manifest"))
	}
	if own := r.DataGiven(); own != nil && own.Kind != yamlpos.Map && t.fromHost(own) {
		errs.Add(own.Errorf("write a map: data: {key: \"{{ ... }}\"}", "data from a host cannot be used as the whole data of a manifest"))
	} else if own != nil {
		errs.Add(t.checkDataKeys(own))
	}
	return errs.Err()
}

// checkDataKeys refuses computed keys in the data of a nested manifest where facts have a
// say: it must be known by name which keys are made of facts.
func (t Taint) checkDataKeys(data *yamlpos.Node) error {
	var errs yamlpos.Errors
	for _, pair := range data.Pairs {
		if t.resource.Properties.texts[pair.Key] != nil && (t.fromHost(pair.Key) || t.fromHost(pair.Value)) {
			errs.Add(pair.Key.Errorf("write the key as it is: data: {key: \"{{ ... }}\"}",
				"data from a host cannot be used as a key of the data of a manifest, or the value of a computed key"))
		}
	}
	return errs.Err()
}

// Nested returns the keys of the nested manifest's data that are made of facts: the keys of the applying manifest, if
// the resource passes no data of its own.
func (t Taint) Nested() map[string]bool {
	own := t.resource.DataGiven()
	if own == nil {
		return t.seen.Data
	}
	tainted := map[string]bool{}
	for _, pair := range own.Pairs {
		if t.fromHost(pair.Value) {
			tainted[pair.Key.Text] = true
		}
	}
	return tainted
}

// checkTree reports the paths in the templates of a folder that a host could choose.
func (t Taint) checkTree(files *templates.Files) error {
	use := t.resource.usesTree()
	if use == nil || !use.literal {
		return nil
	}
	tree, err := Templates(files, use.Request)
	if err != nil {
		return nil // which is reported by [Resource.CheckTemplates]
	}
	return tree.CheckPaths(t.ofTree(use))
}

// ofTree returns the taint as the templates of a folder see it: a property may have replaced the data.
func (t Taint) ofTree(use *treeUse) templates.Taint {
	r := t.resource
	node := r.PropertySet().Get(use.Data)
	if use.Data == "" || keys.Given(node) == nil || node.Kind == yamlpos.Map && len(node.Pairs) == 0 { // see modules.TreeRequest
		return t.seen
	}
	inside := templates.Taint{Item: t.seen.Item, Data: map[string]bool{}}
	if text := r.Properties.texts[node]; text != nil { // an expression that makes up all of it, or nothing
		inside.AllData = text.FromHost(t.seen)
		inside.Data = t.seen.Data
		return inside
	}
	for _, pair := range node.Pairs {
		hostile := t.fromHost(pair.Value)
		key := r.Properties.texts[pair.Key]
		if key != nil && (hostile || key.FromHost(t.seen)) {
			inside.AllData = true
		}
		inside.Data[pair.Key.Text] = hostile
	}
	return inside
}

// Tree returns the folder of templates that the resource needs for one host.
func (t Taint) Tree(files *templates.Files, request modules.TreeRequest) (*templates.ScaffoldTree, error) {
	tree, err := Templates(files, request)
	if err != nil {
		return nil, err
	}
	use := t.resource.usesTree()
	if use == nil || use.literal { // CheckPaths has looked at that
		return tree, nil
	}
	return tree, tree.CheckPaths(t.ofTree(use))
}
