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
		return HostFootprint{Host: h.Name, Users: users, Err: queryFailure(h, err)}
	}, emit)
}

// FootprintQuery lists the files that runs have left on the host. If it fails, the result is not complete.
type FootprintQuery struct {
	Remove bool `json:"remove,omitempty"` // removes them, too
}

// Number of tries to open another session, and the wait between them.
const (
	sessionTries = 20
	sessionPause = 100 * time.Millisecond
)

func (q FootprintQuery) read(ctx context.Context, r *Runner, h *inventory.Host) (found []start.Footprint, err error) {
	client, err := r.dial(ctx, h, nil)
	if err != nil {
		return nil, err
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
			f, err = start.FootprintOf(ctx, client, start.FootprintRequest{Nonce: r.NewNonce(), Become: d.escalated(b), Remove: q.Remove, Timeout: d.Start})
			if !errors.Is(err, transport.ErrNoSession) || len(found) == 0 || try == sessionTries-1 {
				break
			}
			time.Sleep(sessionPause) // the one before has ended here, and there perhaps not yet (MaxSessions)
		}
		if err != nil {
			return found, err
		}
		found = append(found, f)
	}
	return found, nil
}
