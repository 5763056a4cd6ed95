package catalog

import (
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// watchRules returns the compiler's rules for plays that set none.
func (c *Compiler) watchRules() watch.Rules {
	if c.opts.Watch != nil {
		return *c.opts.Watch
	}
	return watch.Defaults()
}

// watched returns the rules of a resource, based on the rules of its surroundings. said has its own settings; nil means
// none.
func (in *scope) watched(said *yamlpos.Node, errs *yamlpos.Errors) *watch.Rules {
	if said == nil {
		return in.watch
	}
	own := *in.watch
	errs.Add(manifest.ReadWatch(said, &own, false, nil))
	return &own
}

// WatchRules returns the manifest's rules for watching the resource of an entry. The caller must not change them.
func (c *Compiled) WatchRules(entry int) *watch.Rules {
	if entry < len(c.watches) && c.watches[entry] != nil {
		return c.watches[entry]
	}
	return c.watch
}

// Watching returns the catalog for a host that watches it, as the play of that number, from 1. It is a check that is
// not remembered, and after its end the host keeps reporting the state of the entries.
func (c *Compiled) Watching(play int) *Compiled {
	w := *c
	w.NeedsFull = true
	w.Catalog.Check, w.Catalog.Rehearsal = true, true
	w.Catalog.Diff, w.Catalog.Follow, w.Catalog.Lock, w.Catalog.Once, w.Catalog.Confirm, w.Catalog.Undo = false, false, nil, nil, nil, nil
	rules := c.watch
	w.Catalog.Watch = &wire.Watch{Play: play, Settle: rules.Settle, Longest: rules.Longest, Poll: rules.Poll, Quiet: rules.Files}
	w.Catalog.Entries = slices.Clone(c.Catalog.Entries)
	for i := range w.Catalog.Entries {
		own := c.WatchRules(i)
		w.Catalog.Entries[i].Watch = entryWatch(own, rules)
		w.Catalog.Watch.Longest = max(w.Catalog.Watch.Longest, own.Longest)
	}
	return &w
}

// entryWatch returns the differences between an entry's rules and the play's; nil means none.
func entryWatch(own, ofPlay *watch.Rules) *wire.EntryWatch {
	w := wire.EntryWatch{Off: own.Mode == watch.Off}
	if own.Settle != ofPlay.Settle {
		w.Settle = max(own.Settle, 1) // 0 means the play's value
	}
	if own.Poll != ofPlay.Poll {
		w.Poll = &own.Poll
	}
	if w == (wire.EntryWatch{}) {
		return nil
	}
	return &w
}

// watch writes rules in the form of a manifest: the mode, and the differences from others; nil writes all.
func (w *writer) watch(r, others *watch.Rules) *yaml.Node {
	own, but := rulesAsWritten(r), [][]setting(nil)
	if others != nil {
		but = rulesAsWritten(others)
	}
	all, repair := w.mapping(), w.mapping()
	for level, into := range []*yaml.Node{all, repair} {
		for i, one := range own[level] {
			if one.key == "mode" || but == nil && one.value != nil || but != nil && !reflect.DeepEqual(one.value, but[level][i].value) {
				if one.value == nil {
					one.value = []any{}
				}
				w.put(into, one.key, w.plain(one.value), "")
			}
		}
	}
	if len(repair.Content) > 0 {
		w.put(all, "repair", repair, "")
	}
	return all
}

// A setting is a key of watch with its value; nil means none.
type setting struct {
	key   string
	value any
}

// rulesAsWritten returns the keys of watch, and the keys of its repair map.
func rulesAsWritten(r *watch.Rules) [][]setting {
	only := "certain"
	if !r.OnlyCertain {
		only = "all"
	}
	backoff := []string{}
	for _, wait := range r.Backoff {
		backoff = append(backoff, wait.String())
	}
	var ignore, quiet any
	if len(r.Ignore) > 0 {
		ignore = r.Ignore
	}
	var times []any
	for _, window := range r.Quiet {
		times = append(times, window.String())
	}
	for _, file := range r.Files {
		times = append(times, map[string]string{"file": file})
	}
	if len(times) > 0 {
		quiet = times
	}
	return [][]setting{
		{{"mode", string(r.Mode)}, {"settle", r.Settle.String()}, {"poll", r.Poll.String()}, {"ignore", ignore}, {"quiet", quiet}},
		{
			{"budget", r.Budget}, {"per", r.Per.String()}, {"backoff", backoff},
			{"fleet", strconv.FormatFloat(r.Fleet, 'g', -1, 64) + "%"}, {"only", only},
		},
	}
}
