package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// Bounds of nested manifests.
const (
	maxNesting   = 10      // levels below a play
	maxManifests = 1000    // read by one run, each counted once
	maxNested    = 100_000 // resources of a play; nested manifests count each time they are applied
)

// A nesting has the nested manifests of one run. Each is read once, however many resources apply it.
type nesting struct {
	mu    sync.Mutex                 // held while one is read for a host
	known map[string]*nested         // manifests by the key of their origin
	read  map[*manifest.Play]*nested // manifests that were read without errors
	// instances has the results of [perHost.Nested]; at most maxManifests.
	instances map[instanceKey]*manifest.Play
}

func newNesting() nesting {
	return nesting{known: map[string]*nested{}, read: map[*manifest.Play]*nested{}, instances: map[instanceKey]*manifest.Play{}}
}

// A nested is the result of reading a manifest that resources apply.
type nested struct {
	play   *manifest.Play // nil if reading failed
	err    error          // reason for a nil play, at the place that first applies it
	at     source.File
	size   int // number of resources, including the manifests it applies; at most maxNested+1
	height int // levels of nested manifests below it
}

// apply reads the manifest that a resource applies, unless that is known only per host.
func (f *file) apply(ctx context.Context, r *manifest.Resource) {
	r.Manifest = r.Name.Node.Text
	f.report.Add(r.Taint(nil).CheckNested())
	checksum := r.PropertySet().Get("checksum")
	switch {
	case r.Name.HasExpressions():
		return
	case source.IsURL(r.Manifest): // from here on the name without secrets is used
		shown := *r.Name.Node
		shown.Text = source.ShownName(r.Manifest)
		shown.Value = shown.Text
		r.Name = manifest.Literal(&shown)
	}
	switch {
	case f.values.Generated(), f.report.HasErrorAt(r.Name.Node):
	case checksum != nil && (r.Properties.Open(checksum) || f.report.HasErrorAt(checksum)):
	default:
		n := f.nested(ctx, r.Name.Node, r.Nest())
		f.report.Add(n.err)
		if n.err == nil {
			r.Child = n.play
		}
	}
}

// nested returns the manifest at a path relative to the file, or in an archive. at is the place that names it. Errors
// in it are reported with the file.
func (f *file) nested(ctx context.Context, at *yamlpos.Node, nest modules.Nest) *nested {
	origin, err := f.at.Nested(at, nest.Manifest, nest.Checksum)
	if err != nil {
		return &nested{err: err}
	}
	if origin.SendsPasswordInTheClear() {
		f.report.Warn(at, "the password goes there unencrypted; use https://")
	}
	if err := checkChain(at, append(slices.Clone(f.applies), origin.Name)); err != nil {
		return &nested{err: err}
	}
	x := &f.run.nesting
	if n := x.known[origin.Key]; n != nil {
		return n
	}
	if len(x.known) == maxManifests {
		return &nested{err: at.Errorf("", "more than %d manifests are applied", maxManifests)}
	}
	n := &nested{}
	x.known[origin.Key] = n
	var data []byte
	f.run.note(origin.Path())
	n.at, data, err = origin.Read(ctx, f.run.archives)
	if err != nil {
		n.err = at.Errorf(source.ReadHint(err), "%v", err)
		if ctx.Err() != nil { // another host may have more time
			delete(x.known, origin.Key)
		}
		return n
	}
	inner := f.run.file(n.at, f.applies)
	n.play = inner.nestedManifest(ctx, data)
	f.report.Include(inner.report)
	if n.play != nil {
		x.read[n.play] = n
		x.measure(n)
	}
	return n
}

// checkChain refuses manifests that apply themselves, and those nested too deeply.
// chain ends with the one in question.
func checkChain(at *yamlpos.Node, chain []string) error {
	last := len(chain) - 1
	switch shown := strings.Join(chain, " → "); {
	case slices.Contains(chain[:last], chain[last]):
		return at.Errorf("remove this apply resource, or apply another manifest", "a manifest applies itself: %s", shown)
	case last > maxNesting:
		return at.Errorf("", "maximum apply depth of %d exceeded: %s", maxNesting, shown)
	}
	return nil
}

// measure counts the manifest's resources.
func (x *nesting) measure(n *nested) {
	all, size := appliers(n.play.Resources)
	n.size = size
	for _, r := range all {
		if inner := x.read[r.Child]; inner != nil {
			n.size = min(n.size+inner.size, maxNested+1)
			n.height = max(n.height, inner.height+1)
		}
	}
}

// nestedManifest reads the one manifest of a file; nil means the file has none.
func (f *file) nestedManifest(ctx context.Context, data []byte) *manifest.Play {
	documents, err := yamlpos.Parse(f.at.Name(), data, f.run.manifestOptions(f.at)...)
	if err != nil {
		f.report.Add(err)
		return nil
	}
	documents = slices.DeleteFunc(documents, func(n *yamlpos.Node) bool { return keys.Given(n) == nil })
	switch {
	case len(documents) == 0:
		f.report.Add(fmt.Errorf("%s: the file is empty", f.at.Name()))
	case len(documents) > 1:
		f.report.Add(documents[1].Errorf("write an apply resource for each", "a nested manifest is one document"))
	case documents[0].Kind == yamlpos.List:
		f.report.Add(documents[0].Errorf(`a play applies one manifest at a time; "include" takes a list of plays`, "a nested manifest is not a list of plays"))
	case documents[0].Kind != yamlpos.Map:
		f.report.Add(documents[0].Errorf(`a manifest is a map with a section "ccm"`, "this is not a manifest"))
	default:
		return f.nestedPlay(ctx, documents[0])
	}
	return nil
}

func (f *file) nestedPlay(ctx context.Context, n *yamlpos.Node) *manifest.Play {
	var k keys.Nested
	if f.playbook(ctx, f.withoutPlayKeys(n), &k) {
		return nil
	}
	f.report.Decode(f.withoutForeign(f.withoutPlayKeys(n)), &k)
	p := &manifest.Play{
		Name: f.at.Title(), File: f.at.Name(), Folder: f.at.Folder(),
		FailOnError: k.CCM.FailOnError, Strict: k.Strict, Defaults: n.Get("defaults"), Data: f.data(ctx, n),
		Registry: f.run.registry, PerHost: perHost{f.run, f.at, f.applies},
	}
	f.ccm(ctx, p, n)
	return p
}

// withoutPlayKeys reports the keys about where and how a play runs, and returns n without them.
func (f *file) withoutPlayKeys(n *yamlpos.Node) *yamlpos.Node {
	hints := map[string]string{
		"name":    `write "alias" at the resource that applies it`,
		"tags":    `write "tags" at the resource that applies it, or at its resources`,
		"include": "write an apply resource",
	}
	kept := *n
	kept.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(pair yamlpos.Pair) bool {
		key := pair.Key.Text
		hint := hints[key]
		switch {
		case slices.Contains(keys.OfNested, key), !slices.Contains(keys.OfPlay, key):
			return false
		case hint == "":
			hint = "move the key to the play that applies this manifest"
		}
		f.report.Add(pair.Key.Errorf(hint, "the key %q cannot be used in a nested manifest", key))
		return true
	})
	return &kept
}
