package ral

import (
	"context"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// answers are the answers of providers about many resources at once, by group.
type answers map[string]*preloaded

// preloaded is one answer.
type preloaded struct {
	said    recorder  // other messages of the provider
	once    sync.Once // the first to use the answer reports that, and several may at once
	entries map[string]*entry
	err     error
}

// Preload implements [modules.Preloader]: each json provider is called once for all of its resources.
func (r *Ral) Preload(ctx context.Context, h modules.Host, all []modules.Resource) (any, error) {
	ask := map[string][]string{}
	of := map[string]*provider{}
	for _, res := range all {
		one, ok := res.(*Ral)
		if !ok {
			continue
		}
		p, _, err := one.resolve(ctx, h)
		if err != nil || p.Invoke != invokeJSON {
			continue
		}
		of[p.group()] = p
		ask[p.group()] = append(ask[p.group()], one.Name)
	}
	found := answers{}
	for group, names := range ask {
		if len(names) < 2 {
			continue
		}
		t := &preloaded{}
		quiet := h
		quiet.Report = &t.said
		t.entries, t.err = of[group].get(ctx, quiet, unique(names))
		found[group] = t
	}
	return found, nil
}

func unique(names []string) []string {
	seen := map[string]bool{}
	var list []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// recall returns the entries that Preload has found for a resource, or nil.
func (p *provider) recall(h modules.Host, name string) (map[string]*entry, error) {
	found, _ := h.Preloaded("").(answers)
	t := found[p.group()]
	if t == nil || t.err == nil && t.entries[name] == nil {
		return nil, nil
	}
	t.once.Do(func() { t.said.tell(h.Report) })
	return t.entries, t.err
}
