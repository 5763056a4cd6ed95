package ral

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// The queries.
const (
	queryGet       = "get"       // the resource, as {"resource": {...}}
	queryList      = "list"      // all resources of the provider, as {"resources": [...]}
	queryProviders = "providers" // lists the providers, as {"providers": [...]}
)

// Queries implements [modules.Querier]. The answers have the form of ralsh --json.
func (r *Ral) Queries() []string { return []string{queryGet, queryList, queryProviders} }

// Query implements [modules.Querier].
func (r *Ral) Query(ctx context.Context, h modules.Host, query string) (json.RawMessage, error) {
	switch query {
	case queryGet, queryList:
	case queryProviders:
		return r.providers(ctx, h)
	default:
		return nil, modules.Refuse("a provider does not answer %q", query)
	}
	p, err := r.find(ctx, h)
	if err != nil {
		return nil, err
	}
	if query == queryGet {
		return r.one(ctx, h, p)
	}
	return p.list(ctx, h)
}

// document returns a resource as ralsh prints it.
func (p *provider) document(name string, v values) map[string]any {
	doc := map[string]any(v.plus(nil))
	doc["name"] = name
	doc["ral"] = map[string]string{"type": p.Type, "provider": p.full()}
	return doc
}

func (r *Ral) one(ctx context.Context, h modules.Host, p *provider) (json.RawMessage, error) {
	all, err := p.get(ctx, h, []string{r.Name})
	if err != nil {
		return nil, err
	}
	v, err := p.stateOf(all[r.Name], nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"resource": p.document(r.Name, v)})
}

func (p *provider) list(ctx context.Context, h modules.Host) (json.RawMessage, error) {
	all, err := p.get(ctx, h, nil)
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if e := all[name]; e.err != nil {
			h.Report.Message("warning", quoted(name)+": "+e.err.Error())
		} else {
			list = append(list, p.document(name, e.values))
		}
	}
	return json.Marshal(map[string]any{"resources": list})
}

// providers lists all providers of the play, and then all providers of the host.
func (r *Ral) providers(ctx context.Context, h modules.Host) (json.RawMessage, error) {
	v := &survey{r: r, h: h}
	if r.Play != nil {
		v.ignored = slices.Clone(r.Play.Lost)
	}
	if err := v.ofPlay(ctx); err != nil {
		return nil, err
	}
	v.ofHost(ctx)
	list := []map[string]any{}
	for _, p := range v.all {
		list = append(list, p.described(h.Files))
	}
	for _, ignored := range v.ignored {
		h.Report.Message("warning", "ignored: "+ignored)
	}
	return json.Marshal(map[string]any{"providers": list})
}

func (p *provider) described(files modules.FileReader) map[string]any {
	attributes := map[string]any{}
	for name, a := range p.Attributes {
		kind := a.Kind
		if kind == kindBoth {
			kind = "rw"
		}
		attributes[name] = map[string]string{"desc": a.Desc, "type": a.spelt(), "kind": kind}
	}
	return map[string]any{
		"name": p.full(), "type": p.Type, "source": p.source, "desc": p.Desc,
		"suitable": p.unsuitable(files) == "", "attributes": attributes,
	}
}

// everyProvider requests all providers instead of one.
const everyProvider = "*"

// queryLine implements [modules.Type].QueryLine: list PROVIDER, get PROVIDER NAME..., providers. A type names a
// provider too, if only one has it.
func queryLine(query string, words []string, _ func(string) (map[string]any, error)) ([]map[string]any, error) {
	w, err := modules.SplitOptions(words, []string{"timeout"})
	rest := w.Rest
	switch {
	case err != nil:
		return nil, err
	case query == queryProviders && len(rest) > 0:
		return nil, fmt.Errorf("%q is one word too many: ral providers", rest[0])
	case query == queryProviders:
		rest = []string{everyProvider}
	case len(rest) == 0:
		return nil, errors.New("say which provider, as in ral " + query + " service::systemd")
	case query == queryList && len(rest) > 1:
		return nil, fmt.Errorf("%q is one word too many: ral list PROVIDER; ral get PROVIDER NAME... gives single resources", rest[1])
	case query == queryGet && len(rest) == 1:
		return nil, fmt.Errorf("say which resource: ral get %s NAME...; ral list %s gives all", rest[0], rest[0])
	}
	names := rest[1:]
	if len(names) == 0 {
		names = rest[:1]
	}
	var all []map[string]any
	for _, name := range names {
		properties := map[string]any{"name": name, "provider": rest[0]}
		if timeout, given := w.Options["timeout"]; given {
			properties["timeout"] = timeout
		}
		all = append(all, properties)
	}
	return all, nil
}
