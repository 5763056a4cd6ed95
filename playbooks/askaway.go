package playbooks

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// An Ask is a query of a host outside of a play.
type Ask struct {
	Facts     []string `json:"facts,omitempty"` // paths; none are all
	Footprint bool     `json:"footprint,omitempty"`
	Remove    bool     `json:"remove,omitempty"` // remove the files that runs have left there
}

// EnterAll finds out whether workers get into any of some hosts. The first signal on stop ends it, without an error.
func (r *Runner) EnterAll(ctx context.Context, stop <-chan struct{}, hosts []*inventory.Host) error {
	return r.enter(ctx, stop, [][]*inventory.Host{hosts})
}

// askAway has a worker query a host. answer gets the result as far as it has come; failed is the reason if it is
// incomplete.
func (r *Runner) askAway(ctx context.Context, h *inventory.Host, ask Ask, answer any) (failed events.Event) {
	end := r.Workers.Take(ctx, nil, Turn{Kind: AskTurn, Host: h.Name, Ask: &ask}, NoQuestions{h.Name})
	err := end.err()
	if err == nil || len(end.Found.Asked) > 0 {
		d := json.NewDecoder(bytes.NewReader(end.Found.Asked))
		d.UseNumber()
		if wrong := d.Decode(answer); err == nil {
			err = wrong
		}
	}
	if err != nil {
		return failure("", h.Name, err)
	}
	return nil
}

// factsAwayOf reads the facts of a host through a worker.
func (r *Runner) factsAwayOf(ctx context.Context, h *inventory.Host, paths []string) HostFacts {
	answer := HostFacts{Host: h.Name}
	var told map[string]any
	if answer.Err = r.askAway(ctx, h, Ask{Facts: paths}, &told); answer.Err != nil {
		return answer
	}
	answer.Facts = make(map[string]any, len(told))
	for name, value := range told {
		plain, err := plainValue(value)
		if err != nil {
			return HostFacts{Host: h.Name, Err: failure("", h.Name, err)}
		}
		answer.Facts[name] = plain
	}
	return answer
}

// footprintAway has a worker list the files that runs have left on a host.
func (r *Runner) footprintAway(ctx context.Context, h *inventory.Host, remove bool) HostFootprint {
	answer := HostFootprint{Host: h.Name}
	answer.Err = r.askAway(ctx, h, Ask{Footprint: true, Remove: remove}, &answer.Users)
	return answer
}

// asked queries a host of this worker.
func (f *fleet) asked(ctx context.Context, state *hostState, ask Ask) (found Found, err error) {
	ctx, cancel := f.untilStopped(ctx)
	defer cancel()
	var said any
	var failed events.Event
	if ask.Footprint {
		answer := f.runner.hostFootprint(ctx, state.host, ask.Remove)
		said, failed = answer.Users, answer.Err
	} else {
		answer := f.runner.hostFacts(ctx, state.host, facts.Collectors(ask.Facts, len(ask.Facts) == 0))
		said, failed = answer.Facts, answer.Err
	}
	if found.Asked, err = json.Marshal(said); err == nil && failed != nil {
		err = &toldFailure{failed}
	}
	return found, err
}
