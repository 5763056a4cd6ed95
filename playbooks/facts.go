package playbooks

import (
	"context"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
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
	askAll(r, hosts, func(h *inventory.Host) HostFacts { return r.hostFacts(ctx, h, wanted) }, emit)
}

func (r *Runner) hostFacts(ctx context.Context, h *inventory.Host, collectors []string) HostFacts {
	ctx, done := r.hostTime(ctx)
	defer done()
	client, err := r.dial(ctx, h)
	if err != nil {
		return HostFacts{Host: h.Name, Err: failure("", h.Name, err)}
	}
	program, err := r.start(ctx, h.Name, client, r.Connect.Escalate(reach.Escalation{}, h.Connection()), collectors, false)
	state := &hostState{host: h, client: client}
	defer state.close()
	if err != nil {
		return HostFacts{Host: h.Name, Err: failure("", h.Name, late(ctx, err))}
	}
	state.programs = map[string]*hostProgram{"": program}
	return HostFacts{Host: h.Name, Facts: program.facts}
}
