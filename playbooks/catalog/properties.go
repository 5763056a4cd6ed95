package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A resolved has the resolved properties of one entry.
type resolved struct {
	made   *prepared
	node   *yamlpos.Node // resolved properties; nil if they are shared
	shared bool          // another host had the same
}

// A prepared has the resolved properties of a resource, with the contents that they mention.
type prepared struct {
	properties json.RawMessage
	texts      map[string][]byte
	files      map[string]sourceFile
	downloads  map[string]*fetched
	size       int64              // size of the texts, in bytes
	bundle     *bundle            // bundle that it needs
	related    []modules.Relation // in a graph
	batches    bool               // it can be carried out together with others of its type
	needsFull  bool
	fetch      int64         // how many bytes the controller gets of it
	restarts   time.Duration // how long the host may be away for it
	longest    time.Duration // [modules.Limited]
	action     string        // action of an event, see [wire.Entry].Action
	runsOnce   bool          // a command that nothing makes safe to repeat
	sensitive  bool          // set if one of its files is encrypted on disk
	unfit      bool          // set if it cannot be shared with other hosts: it depends on more than its inputs
	onlyCheck  bool          // it lacks a download, see [Compiler.Check]
}

// properties makes the properties of a resource, or reuses the properties of another host with equal inputs. The errors
// of expressions contain no values. If the resource is sensitive, errors about their results are withheld.
func (x *expansion) properties(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env, e *wire.Entry) (resolved, error) {
	memo := &x.compiler.memo
	// Resources that a template has written are new for every host.
	key, repeats := memoKey{}, !x.show && in.manifest.play.JetFile == nil
	if repeats {
		key, repeats = memo.key(r, e.Name, env)
	}
	if repeats {
		if known := memo.recall(key); known != nil {
			return resolved{made: known, shared: true}, nil
		}
	}
	node, err := r.Properties.Resolve(ctx, env)
	if err != nil {
		return resolved{}, err
	}
	p := preparation{
		resource: r, manifest: in.manifest, env: env, inGraph: x.inGraph,
		downloads: x.downloads, room: max(0, maxSize-x.size),
	}
	made, err := p.prepare(ctx, e.Name, node)
	switch {
	case err != nil && e.Sensitive:
		return resolved{}, withheld(err)
	case err != nil:
		return resolved{}, err
	case repeats:
		memo.remember(key, made)
	}
	return resolved{made: made, node: node}, nil
}

// A preparation makes the properties of one resource for one host.
type preparation struct {
	resource  *manifest.Resource
	manifest  *loadedManifest
	env       *templates.Env
	inGraph   bool
	discreet  bool       // set if the resource learns that it is sensitive
	downloads *Downloads // nil where nothing is applied
	room      int64      // space for rendered texts, in bytes
	made      prepared
}

// prepare prepares and validates resolved properties and returns them as JSON.
func (p *preparation) prepare(ctx context.Context, name string, node *yamlpos.Node) (*prepared, error) {
	r, m := p.resource, &p.made
	res := r.Type.New()
	if err := yamlpos.Decode(node, res); err != nil {
		return nil, err
	}
	modules.SetName(res, name)
	modules.SetDefaults(res)
	if err := p.manifest.taint(r).CheckDownload(modules.RequirementsOf(res).Downloads); err != nil { // now that all properties are known
		return nil, err
	}
	tags := modules.CheckTags(res)
	if t, ok := res.(modules.Informed); ok {
		t.Inform(modules.Circumstances{Sensitive: p.discreet})
	}
	var unprepared error
	if preparer, ok := res.(modules.Preparer); ok {
		unprepared = preparer.Prepare(ctx, p.source())
	}
	if t, ok := res.(modules.Informed); ok && m.sensitive {
		t.Inform(modules.Circumstances{Sensitive: true})
	}
	if m.bundle != nil && m.bundle.err != nil {
		return nil, r.Name.Node.Errorf("", "%v", m.bundle.err)
	}
	if placed, ok := errors.AsType[*templates.Error](unprepared); ok { // the error is in a template
		return nil, placed
	}
	wrong := errors.Join(tags, unprepared, res.Validate(), r.ValidateStrict(res))
	if err := (manifest.PropertySet{Type: r.Type, Name: r.Name.Node, Node: node}).CheckEvent(func(*yamlpos.Node) bool { return false }); err != nil {
		return nil, err
	}
	if merger, ok := res.(modules.Merger); ok && modules.IsEvent(res) {
		m.action = merger.RefreshAction()
	}
	if len(r.Received()) > 0 {
		if err := r.CheckReceiving(node, name); err != nil {
			return nil, err
		}
		wrong = unprepared
	}
	if wrong != nil {
		return nil, manifest.Positioned(r, node, wrong)
	}
	if related, ok := res.(modules.Related); ok && p.inGraph {
		m.related = related.Related()
	}
	if restarter, ok := res.(modules.Restarter); ok {
		if p.inGraph {
			return nil, r.Name.Node.Errorf("move it into its own play after this one", "no other resource may run during a reboot, but in a play with strategy: graph others can")
		}
		m.restarts = restarter.Restarts()
	}
	if limited, ok := res.(modules.Limited); ok {
		m.longest = limited.Longest()
	}
	if commander, ok := res.(modules.Commander); ok {
		m.runsOnce = commander.Repeat() == modules.RunsOnce
	}
	if fetcher, ok := res.(modules.Fetcher); ok {
		m.fetch = fetcher.MostFetched()
	}
	_, m.batches = res.(modules.Batcher)
	m.needsFull = modules.RequirementsOf(res).FullProgram || m.bundle != nil // which the lean one does not keep
	b, err := json.Marshal(res)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name.Node.Pos(), err)
	}
	m.properties = b
	return m, nil
}

// source returns the resource's access to the controller. Everything that it reads becomes part of the prepared result.
func (p *preparation) source() modules.Source {
	return modules.Source{
		File: func(_ context.Context, name string) (modules.Content, error) {
			return p.made.file(p.manifest.sources, name)
		},
		Text: func(_ context.Context, text modules.Content) (modules.Content, error) { return p.made.text(text), nil },
		Tree: p.tree,
		Download: func(_ context.Context, request modules.Download) (modules.Content, error) {
			return p.download(request)
		},
		Downloaded: p.downloaded,
		Resources:  p.resources,
		YAML:       p.manifest.yaml,
		Memo:       p.manifest.remembered,
		Partial:    len(p.resource.Received()) > 0 || p.resource.Query != "",
	}
}

// resources returns the folder resources/ of the resource's manifest; nil means none.
func (p *preparation) resources() fs.FS {
	b := p.manifest.bundled()
	if b == nil {
		return nil
	}
	p.made.bundle = b
	return b.look
}

// download promises a file to the host. Nothing is got where nothing is applied.
func (p *preparation) download(request modules.Download) (modules.Content, error) {
	p.made.unfit = true // which download it is is the host's own
	if p.made.onlyCheck = p.downloads == nil; p.made.onlyCheck {
		return modules.PromisedContent(noToken), nil
	}
	f, err := p.downloads.promise(request)
	if err != nil {
		return modules.Content{}, err
	}
	p.made.downloads = with(p.made.downloads, f.token, f)
	return modules.PromisedContent(f.token), nil
}

// downloaded gets a file, once for all hosts.
func (p *preparation) downloaded(ctx context.Context, request modules.Download) (modules.Content, error) {
	p.made.unfit = true
	if p.made.onlyCheck = p.downloads == nil; p.made.onlyCheck {
		return modules.PromisedContent(noToken), nil
	}
	f, err := p.downloads.promise(request)
	if err != nil {
		return modules.Content{}, err
	}
	sum, err := p.downloads.now(ctx, f)
	if err != nil {
		return modules.Content{}, err
	}
	p.made.downloads = with(p.made.downloads, sum, f)
	return modules.HashedContent(sum, f.size), nil
}

// text is the content of a rendered text.
func (m *prepared) text(c modules.Content) modules.Content {
	b, here := c.Bytes()
	if !here || c.Size() <= modules.InlineLimit {
		return c
	}
	m.texts = with(m.texts, c.SHA256(), b)
	m.size += c.Size()
	return c.Hashed()
}

// file is the content of a file of the play.
func (m *prepared) file(from *sources, name string) (modules.Content, error) {
	read := from.read(name)
	c, err := read.content, read.err
	if err != nil {
		return modules.Content{}, err
	}
	if read.sealed {
		m.sensitive = true
		return m.text(c), nil
	}
	if _, here := c.Bytes(); !here {
		m.files = with(m.files, c.SHA256(), sourceFile{from, filepath.Clean(name), c.Size()})
	}
	return c, nil
}

func with[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}
