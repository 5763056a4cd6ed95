package playbooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// otherHosts returns the hosts whose facts a play reads. No limit applies to them: they are queried, and not changed.
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

// otherFacts reads the facts of other hosts for a play, before its own hosts begin. The first signal ends it.
func (f *fleet) otherFacts(ctx context.Context, s *selection) {
	f.runner.askOthers(ctx, s, f.runner.factsFor(ctx, f.stop, s.number))
}

// allOtherFacts reads them for all plays where these are watched, and not applied.
func (f *fleet) allOtherFacts(ctx context.Context) {
	for _, s := range f.plays {
		if !f.interrupted(ctx) {
			f.otherFacts(ctx, s)
		}
	}
}

// askOthers sets the facts of other hosts for a play, reduced to the facts that it can read. If ask is nil, they are
// the facts that the command line sets for all hosts. If a host does not answer, resources that need its facts fail
// with that reason.
func (r *Runner) askOthers(ctx context.Context, s *selection, ask func(*inventory.Host, FactsQuery) HostFacts) {
	if s.values == nil || len(s.values.others) == 0 {
		return
	}
	paths, all := s.compiler.OtherFacts()
	gathered, unknown := map[string]any{}, map[string]string{}
	keep := func(host string, found map[string]any) {
		gathered[host] = readFacts(templates.DeepMerge(found, r.Options.Catalog.Facts), paths, all)
	}
	if ask == nil || !all && len(paths) == 0 {
		for _, h := range s.values.others {
			keep(h.Name, nil)
		}
	} else {
		q := FactsQuery{Paths: paths, Only: true}
		if all {
			q = FactsQuery{}
		}
		askAll(r, s.values.others, func(h *inventory.Host) HostFacts { return ask(h, q) }, func(answer HostFacts) {
			if answer.Err == nil {
				keep(answer.Host, answer.Facts)
				return
			}
			why := printable.Line(events.FailureText(answer.Err))
			r.warn(fmt.Sprintf("hostfacts: %s: %s", answer.Host, why))
			unknown[answer.Host] = why
			gathered[answer.Host] = unknownFacts(answer.Host, why)
		})
	}
	s.values.facts, s.values.unknown = gathered, unknown
}

// unknownFacts replace the facts of a host that has not answered.
func unknownFacts(host, why string) templates.Refused {
	return templates.Unusable("", "the facts of %s are not known: %s", host, why)
}

// OtherFacts are the facts of other hosts that a play reads, for a worker.
type OtherFacts struct {
	Facts   map[string]yamlpos.Portable `json:"facts,omitempty"`
	Unknown map[string]string           `json:"unknown,omitempty"` // why, by the names of hosts
}

// FactsOfOthers requests the facts of other hosts that a play reads.
type FactsOfOthers struct {
	Play int `json:"play"` // number of the play, from 0
}

func (q FactsOfOthers) check(a *answerer) error { return a.checkPlay(q.Play) }

// answer returns the facts of other hosts that a play reads. The play is the play of the turn, or another play of a
// watched host, because a host is watched with all of its plays. A worker gets no other facts.
func (q FactsOfOthers) answer(a *answerer) (OtherFacts, error) {
	v := a.fleet.plays[q.Play].values
	o := OtherFacts{Facts: map[string]yamlpos.Portable{}, Unknown: v.unknown}
	for host, found := range v.facts {
		if _, unknown := v.unknown[host]; !unknown {
			o.Facts[host] = yamlpos.Portable{Node: yamlpos.From(&yamlpos.Node{File: host}, found)}
		}
	}
	return o, nil
}

// askOtherFacts has a worker know the facts of other hosts that a play reads.
func (r *Runner) askOtherFacts(ctx context.Context, s *selection, host string) error {
	if s.play.HostFacts == nil {
		return nil
	}
	answer, err := request(ctx, r.Controller, host, FactsOfOthers{s.number})
	if errors.Is(err, errOver) {
		return nil
	}
	if err != nil {
		return err
	}
	s.values.facts = map[string]any{}
	for name, found := range answer.Facts {
		s.values.facts[name] = found.Any()
	}
	for name, why := range answer.Unknown {
		s.values.facts[name] = unknownFacts(name, why)
	}
	return nil
}

// readFacts returns the facts at paths, or all, with everything that has the same first keys.
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

// withFacts returns the variables of all hosts, with the facts that were read.
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
