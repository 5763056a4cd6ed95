package playbooks

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// otherHosts are the hosts of which a play wants the facts. No limit counts for them: they are
// asked, and not changed.
func (r *Runner) otherHosts(play *manifest.Play) ([]*inventory.Host, error) {
	var errs yamlpos.Errors
	var hosts []*inventory.Host
	known := map[*inventory.Host]bool{}
	for _, pattern := range play.HostFacts {
		selected, err := SelectHosts(r.Inventory, pattern.Text, "", r.warn)
		if err != nil {
			errs.Add(pattern.Errorf("", "hostfacts: %v", err))
		}
		for _, h := range selected {
			if !known[h] {
				hosts = append(hosts, h)
			}
			known[h] = true
		}
	}
	return hosts, errs.Err()
}

// otherFacts asks for the facts of other hosts that a play wants, before any of its own is
// begun with. The first signal ends the asking.
func (f *fleet) otherFacts(ctx context.Context, s *selection) {
	ctx, cancel := f.untilStopped(ctx)
	defer cancel()
	f.runner.askOthers(ctx, s, true)
}

// askOthers gives a play the facts of other hosts that it wants, and of those only what it can
// read. Without contact they are what the command line says that all hosts have. A host that
// does not answer has none: what needs them fails, and says so.
func (r *Runner) askOthers(ctx context.Context, s *selection, contact bool) {
	if s.values == nil || len(s.values.others) == 0 {
		return
	}
	paths, all := s.compiler.OtherFacts()
	gathered := map[string]any{}
	keep := func(host string, found map[string]any) {
		gathered[host] = readFacts(templates.DeepMerge(found, r.Options.Catalog.Facts), paths, all)
	}
	if !contact || !all && len(paths) == 0 {
		for _, h := range s.values.others {
			keep(h.Name, nil)
		}
	} else {
		wanted := facts.Collectors(paths, all)
		ask := func(h *inventory.Host) HostFacts { return r.hostFacts(ctx, h, wanted) }
		askAll(r, s.values.others, ask, func(answer HostFacts) {
			if answer.Err == nil {
				keep(answer.Host, answer.Facts)
				return
			}
			why := printable.Line(reason(answer.Err))
			r.warn(fmt.Sprintf("hostfacts: %s: %s", answer.Host, why))
			gathered[answer.Host] = templates.Unusable("", "the facts of %s are not known: %s", answer.Host, why)
		})
	}
	s.values.facts = gathered
}

// readFacts are the facts that lie at paths, or all, with all that lies beside them below the
// first keys.
func readFacts(found map[string]any, paths []string, all bool) map[string]any {
	if all {
		return found
	}
	read := map[string]any{}
	for _, path := range paths {
		key, _, _ := strings.Cut(path, ".")
		if value, ok := found[key]; ok {
			read[key] = value
		}
	}
	return read
}

// reason is what an event says of a host that has not given its facts.
func reason(e events.Event) string {
	switch e := e.(type) {
	case events.Unreachable:
		return e.Error
	case events.HostFailed:
		return e.Error
	}
	return "it has not answered"
}

// withFacts are the variables of all hosts, and the facts of those that were asked.
func withFacts(hosts, facts map[string]any) map[string]any {
	all := maps.Clone(hosts)
	for name, found := range facts {
		of, _ := hosts[name].(map[string]any)
		with := make(map[string]any, len(of)+1)
		maps.Copy(with, of)
		with[templates.FactsKey] = found
		all[name] = with
	}
	return all
}
