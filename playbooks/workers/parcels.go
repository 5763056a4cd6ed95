package workers

import (
	"context"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/privatekey"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// parcels packs what each worker needs of the run, and seals it to the worker.
type parcels struct {
	post      *post
	runner    *playbooks.Runner
	recipe    *parcel.Recipe
	routes    *routes
	authority *authority
	list      func(string) // gets a line for each file; nil drops the lines

	making sync.Mutex // one parcel at a time
	whole  *runContent
	sent   map[string]*sealedRun // sealed runs, by recipient

	mu     sync.Mutex
	failed error // why the run cannot be packed
}

// A sealedRun is the content of the run, sealed to one worker.
type sealedRun struct {
	*object
	asked time.Time // the last time that a worker got its name
}

// forWorker returns the object with the content of the run, sealed to a worker.
func (p *parcels) forWorker(ctx context.Context, recipient string) (*object, error) {
	p.making.Lock()
	defer p.making.Unlock()
	if known := p.sent[recipient]; known != nil {
		known.asked = time.Now()
		return known.object, nil
	}
	if err := p.failure(); err != nil {
		return nil, err
	}
	if p.whole == nil {
		made, err := p.content()
		if err != nil {
			p.mu.Lock()
			p.failed = err
			p.mu.Unlock()
			return nil, err
		}
		p.whole = made
	}
	sealed, err := sealing.SealJSON(recipient, p.whole)
	if err != nil {
		return nil, err
	}
	made, err := p.post.upload(ctx, sealed)
	if err == nil {
		p.sent[recipient] = &sealedRun{made, time.Now()}
	}
	return made, err
}

// failure returns why no worker can get the run; nil if a worker can, or if none has requested it.
func (p *parcels) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// content returns what a worker needs of the run, and lists its files.
func (p *parcels) content() (*runContent, error) {
	r := p.runner
	content := &runContent{Recipe: *p.recipe, Options: r.Options, Names: r.Needs.Names, Extra: layersOf(r.Options.Catalog.Extra)}
	o := &content.Options
	o.Catalog, o.Progress, o.Forks, o.Files, o.Limit, o.Follow = catalog.Options{}, nil, 0, 0, "", ""
	if r.Needs.Environ {
		content.Environ = r.Options.Catalog.Environ
	}
	content.Recipe.EnvFile = r.Options.Catalog.EnvFile && r.Needs.Environ
	if facts := r.Options.Catalog.Facts; len(facts) > 0 {
		content.Facts.Node = yamlpos.From(&yamlpos.Node{File: "--facts"}, facts)
	}
	content.User, content.LocalUser = r.Connect.User, r.Connect.LocalUser
	content.Become = become{Become: r.Connect.Become, User: r.Connect.BecomeUser, Method: r.Connect.BecomeMethod}
	if password := r.Connect.BecomePassword; password != nil {
		content.Become.Password = password.Reveal()
	}
	content.Opened = p.recipe.Sealed.Open()
	if d := p.recipe.Hiera; d != nil {
		p.recipe.Sealed.AddFile(&content.Opened, d.Name, d.Data)
	}
	var sent []string
	var err error
	content.Files, sent, err = p.pack(func(name string, data []byte) {
		p.recipe.Sealed.AddFile(&content.Opened, name, data)
	})
	if p.list != nil {
		for _, line := range sent {
			p.list(line)
		}
	}
	return content, err
}

// forget removes the parcels of workers that have no assignment, and returns their objects.
func (p *parcels) forget(now time.Time, recipients map[string]bool) (objects []string) {
	p.making.Lock()
	defer p.making.Unlock()
	for recipient, one := range p.sent {
		if recipients[recipient] || now.Sub(one.asked) <= lateTime {
			continue
		}
		objects = append(objects, one.Name)
		delete(p.sent, recipient)
	}
	return objects
}

// pack packs the files here that workers need to compile the plays. see gets each file.
func (p *parcels) pack(see func(name string, data []byte)) (packed []byte, sent []string, err error) {
	r := p.runner
	c := &parcel.Contents{
		Recipe: p.recipe, Folders: r.Needs.Folders, Keys: []string{privatekey.ID(p.post.key.PublicKey())}, Note: r.Options.Catalog.Note, See: see,
		Own: append(p.routes.loginKeys(), p.recipe.Without...), Values: p.values,
	}
	if signer, _ := p.authority.key(); signer != nil {
		c.Keys = append(c.Keys, privatekey.ID(signer))
	}
	return c.Pack()
}

// values returns the data of the command line and of the inventory, except secrets.
func (p *parcels) values() (nodes []*yamlpos.Node) {
	for _, l := range layersOf(p.runner.Options.Catalog.Extra) {
		nodes = append(nodes, l.Node.Node)
	}
	layers := p.runner.Inventory.Layers()
	for _, h := range p.runner.Inventory.Hosts() {
		layers = append(layers, h.Layers()...)
	}
	for _, l := range layers {
		if l.Node != nil && !l.Node.Secret {
			nodes = append(nodes, l.Node)
		}
	}
	return nodes
}
