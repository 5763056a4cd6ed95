package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/templates"
)

// HostFacts are the facts of one host, or the reason why they are missing.
type HostFacts struct {
	Host  string
	Facts map[string]any
	Err   events.Event // Unreachable or HostFailed; nil if all went well
}

// Facts reads the facts of hosts and passes each answer to emit as it comes, one at a time. paths selects facts; none
// means all.
func (r *Runner) Facts(ctx context.Context, hosts []*inventory.Host, paths []string, emit func(HostFacts)) {
	ask := r.factsFor(ctx, nil, 0)
	askAll(r, hosts, func(h *inventory.Host) HostFacts { return ask(h, FactsQuery{Paths: paths}) }, emit)
}

// FactsQuery reads facts of the host.
type FactsQuery struct {
	Paths []string `json:"paths,omitempty"` // none means all
	Only  bool     `json:"only,omitempty"`  // excludes facts that were read, but are not at the paths
}

func (q FactsQuery) read(ctx context.Context, r *Runner, h *inventory.Host) (found yamlpos.Portable, err error) {
	all, err := r.hostFacts(ctx, h, facts.Collectors(q.Paths, len(q.Paths) == 0))
	if err != nil {
		return found, err
	}
	if q.Only {
		all = readFacts(all, q.Paths, false)
	}
	found.Node = yamlpos.From(&yamlpos.Node{File: h.Name}, all)
	return found, nil
}

// factsFor returns a function that reads facts of a host, here or through a worker, for a play.
func (r *Runner) factsFor(ctx context.Context, stop <-chan struct{}, play int) func(*inventory.Host, FactsQuery) HostFacts {
	return func(h *inventory.Host, q FactsQuery) HostFacts {
		found, err := query(ctx, r, stop, h, play, q)
		answer := HostFacts{Host: h.Name, Err: queryFailure(h, err)}
		if found.Node != nil {
			answer.Facts, _ = found.Any().(map[string]any)
		}
		return answer
	}
}

// queryFailure returns the event for the error of a query; nil means none.
func queryFailure(h *inventory.Host, err error) events.Event {
	if err == nil {
		return nil
	}
	return failure("", h.Name, err)
}

func (r *Runner) hostFacts(ctx context.Context, h *inventory.Host, collectors []string) (map[string]any, error) {
	ctx, done := r.hostTime(ctx)
	defer done()
	client, err := r.dial(ctx, h, nil)
	if err != nil {
		return nil, err
	}
	program, err := r.start(ctx, client, programStart{host: h.Name, become: r.Connect.Escalate(reach.Escalation{}, h.Connection()), facts: collectors})
	state := &hostState{host: h, client: client}
	defer state.close()
	if err != nil {
		return nil, late(ctx, err)
	}
	state.programs = map[string]*hostProgram{"": program}
	return program.facts, nil
}

// At returns the value at a path such as host.info.platform, or all facts for "". For an unknown path, the event lists
// the known paths.
func (f HostFacts) At(path string) (any, events.Event) {
	if f.Err != nil || path == "" {
		return f.Facts, f.Err
	}
	value, err := templates.Lookup(f.Facts, path)
	if err != nil {
		return nil, f.noFact(path, err)
	}
	return value, nil
}

// maxFactNames bounds the names in a hint: a host may have any number.
const maxFactNames = 20

// noFact returns the event for an unknown path, with known ones. If only the custom facts of the host were read, the
// names of the others are listed, too.
func (f HostFacts) noFact(path string, err error) events.HostFailed {
	e := events.HostFailed{Host: f.Host, Phase: "facts", Error: err.Error(), Hint: "write keys with dots between them, as in host.info.platform"}
	if te, ok := errors.AsType[*templates.Error](err); ok {
		e.Error, e.Hint = te.Msg, cmp.Or(te.Hint, e.Hint)
	}
	first, _, _ := strings.Cut(path, ".")
	if _, found := f.Facts[first]; found || slices.Contains(facts.Names(), first) {
		return e
	}
	names := slices.Concat(facts.Names(), slices.Sorted(maps.Keys(f.Facts)))
	if meant := yamlpos.Suggest(first, names); meant != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", meant)
	} else if first != "" {
		e.Hint = "a path begins with " + strings.Join(names[:min(len(names), maxFactNames)], ", ") + ", or a key of the host's own facts files"
	}
	return e
}

// askAll queries hosts, as many at once as fit, and passes each answer to emit as it comes, one at a time.
func askAll[Answer any](r *Runner, hosts []*inventory.Host, ask func(*inventory.Host) Answer, emit func(Answer)) {
	answers := make(chan Answer)
	byName := make(map[string]*inventory.Host, len(hosts))
	for _, h := range hosts {
		byName[h.Name] = h
	}
	q := share.NewQueue(names(hosts), func(host string, _ *share.WayIn) { answers <- ask(byName[host]) }, func() bool { return false })
	go func() {
		r.fan(q, len(hosts))
		close(answers)
	}()
	for a := range answers {
		emit(a)
	}
}
