package playbooks

import (
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// HostFootprint lists the files that runs have left on a host.
type HostFootprint struct {
	Host  string
	Users []start.Footprint // files of the login user, and of the escalation's user
	Err   events.Event      // Unreachable or HostFailed: Users is not all of it
}

// Footprints lists the files that runs have left on hosts, and removes them if remove is set. It passes each answer to
// emit as it comes, one at a time.
func (r *Runner) Footprints(ctx context.Context, hosts []*inventory.Host, remove bool, emit func(HostFootprint)) {
	askAll(r, hosts, func(h *inventory.Host) HostFootprint {
		users, err := query(ctx, r, nil, h, 0, FootprintQuery{Remove: remove})
		if err != nil {
			return HostFootprint{Host: h.Name, Users: users, Err: failure("", h.Name, err)}
		}
		return HostFootprint{Host: h.Name, Users: users}
	}, emit)
}

// FootprintQuery lists the files that runs have left on the host. If it fails, the result is not complete.
type FootprintQuery struct {
	ofHost
	Remove bool `json:"remove,omitempty"` // removes them, too
}

func (q FootprintQuery) read(ctx context.Context, r *Runner, h *inventory.Host) ([]start.Footprint, error) {
	answer := r.hostFootprint(ctx, h, q.Remove)
	if answer.Err != nil {
		return answer.Users, &toldFailure{answer.Err}
	}
	return answer.Users, nil
}

// Number of tries to open another session, and the wait between them.
const (
	sessionTries = 20
	sessionPause = 100 * time.Millisecond
)

func (r *Runner) hostFootprint(ctx context.Context, h *inventory.Host, remove bool) HostFootprint {
	answer := HostFootprint{Host: h.Name}
	client, err := r.dial(ctx, h, nil)
	if err != nil {
		answer.Err = failure("", h.Name, err)
		return answer
	}
	defer client.Close()
	conn := h.Connection()
	users := []*start.Become{nil}
	if b := r.Connect.Escalate(reach.Escalation{}, conn); b != nil && b.User != r.Connect.Login(conn) {
		users = append(users, b)
	}
	for _, b := range users {
		d := r.Options.Deadlines
		var f start.Footprint
		for try := range sessionTries {
			f, err = start.FootprintOf(ctx, client, start.FootprintRequest{Nonce: r.NewNonce(), Become: d.escalated(b), Remove: remove, Timeout: d.Start})
			if !errors.Is(err, transport.ErrNoSession) || len(answer.Users) == 0 || try == sessionTries-1 {
				break
			}
			time.Sleep(sessionPause) // the one before has ended here, and there perhaps not yet (MaxSessions)
		}
		if err != nil {
			answer.Err = failure("", h.Name, err)
			return answer
		}
		answer.Users = append(answer.Users, f)
	}
	return answer
}
