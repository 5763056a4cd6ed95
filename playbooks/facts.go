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
	askAll(r, hosts, func(h *inventory.Host) HostFacts { return r.factsOf(ctx, nil, h, 0, FactsQuery{Paths: paths}) }, emit)
}

// FactsQuery reads facts of the host.
type FactsQuery struct {
	ofHost
	Paths []string `json:"paths,omitempty"` // none means all
	Only  bool     `json:"only,omitempty"`  // excludes facts that were read, but are not at the paths
}

// plainFacts are facts whose values keep their types in JSON.
type plainFacts map[string]any

// MarshalJSON implements [json.Marshaler].
func (f plainFacts) MarshalJSON() ([]byte, error) {
	return yamlpos.Portable{Node: yamlpos.From(&yamlpos.Node{}, map[string]any(f))}.MarshalJSON()
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *plainFacts) UnmarshalJSON(text []byte) error {
	var p yamlpos.Portable
	if err := p.UnmarshalJSON(text); err != nil || p.Node == nil {
		return err
	}
	*f, _ = p.Any().(map[string]any)
	return nil
}

func (q FactsQuery) read(ctx context.Context, r *Runner, h *inventory.Host) (plainFacts, error) {
	answer := r.hostFacts(ctx, h, facts.Collectors(q.Paths, len(q.Paths) == 0))
	switch {
	case answer.Err != nil:
		return nil, &toldFailure{answer.Err}
	case q.Only:
		return readFacts(answer.Facts, q.Paths, false), nil
	}
	return answer.Facts, nil
}

// factsOf reads the facts of a host, here or through a worker.
func (r *Runner) factsOf(ctx context.Context, stop <-chan struct{}, h *inventory.Host, play int, q FactsQuery) HostFacts {
	found, err := query(ctx, r, stop, h, play, q)
	if err != nil {
		return HostFacts{Host: h.Name, Err: failure("", h.Name, err)}
	}
	return HostFacts{Host: h.Name, Facts: found}
}

func (r *Runner) hostFacts(ctx context.Context, h *inventory.Host, collectors []string) HostFacts {
	ctx, done := r.hostTime(ctx)
	defer done()
	client, err := r.dial(ctx, h, nil)
	if err != nil {
		return HostFacts{Host: h.Name, Err: failure("", h.Name, err)}
	}
	program, err := r.start(ctx, client, programStart{host: h.Name, become: r.Connect.Escalate(reach.Escalation{}, h.Connection()), facts: collectors})
	state := &hostState{host: h, client: client}
	defer state.close()
	if err != nil {
		return HostFacts{Host: h.Name, Err: failure("", h.Name, late(ctx, err))}
	}
	state.programs = map[string]*hostProgram{"": program}
	return HostFacts{Host: h.Name, Facts: program.facts}
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
