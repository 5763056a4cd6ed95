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

// HostFacts is what is true of one host, or why it could not be found out.
type HostFacts struct {
	Host  string
	Facts map[string]any
	Err   events.Event // Unreachable or HostFailed; nil if all went well
}

// Facts asks hosts for their facts and gives emit each answer as it comes, one
// at a time. paths are those that are wanted; none means all.
func (r *Runner) Facts(ctx context.Context, hosts []*inventory.Host, paths []string, emit func(HostFacts)) {
	wanted := facts.Collectors(paths, len(paths) == 0)
	ask := func(h *inventory.Host) HostFacts { return r.hostFacts(ctx, h, wanted) }
	if r.Workers != nil {
		ask = func(h *inventory.Host) HostFacts { return r.factsAwayOf(ctx, h, paths) }
	}
	askAll(r, hosts, ask, emit)
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

// At gives what stands at a path such as host.info.platform, or all facts if it is "".
// If there is no such fact, the event says which paths there are.
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

// maxFactNames is how many names a hint lists: a host may have any number.
const maxFactNames = 20

// noFact says what paths there are in place of one that leads nowhere. Of a host
// that was asked for its custom facts only, the others are known by name.
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

// askAll asks hosts, as many at once as fit, and gives emit each answer as it comes, one at a time.
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
