package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// Invites is the subject on which ccm-push-broker answers an [InviteRequest].
	Invites = subjects + "invite"
	// Joins are the subjects on which invited machines send their keys; each ends with the nkey of the invitation.
	Joins       = joinSubject + "*"
	joinSubject = subjects + "join."
	// InviteTime is the validity of an invitation.
	InviteTime = 15 * time.Minute
	// MaxJoin bounds the message of an invited machine, in bytes.
	MaxJoin    = 16 << 10
	brokerTime = 10 * time.Second
)

// JoinOf is the subject of the invitation with an nkey.
func JoinOf(nkey string) string { return joinSubject + nkey }

// An InviteRequest goes from a controller to the broker. Invite requests a user that may join for [InviteTime]. Admit replaces that user by a
// worker, and Revoke removes it.
type InviteRequest struct {
	Key    string     `json:"key"` // nkey of the invitation
	Invite bool       `json:"invite,omitempty"`
	Admit  *Admission `json:"admit,omitempty"`
	Revoke bool       `json:"revoke,omitempty"`
}

// An Admission is a new worker.
type Admission struct {
	Name string `json:"name"`
	Key  string `json:"key"` // its nkey
	// Sites whose tickets the worker may take; "" means hosts without a site, and nil all sites.
	Sites []string `json:"sites,omitempty"`
}

// An InviteAnswer comes from the broker: an empty error is success.
type InviteAnswer struct {
	Error string `json:"error,omitempty"`
}

// RequestInvite sends a request to the broker.
func RequestInvite(ctx context.Context, conn *nats.Conn, r InviteRequest) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, brokerTime)
	defer cancel()
	msg, err := conn.RequestWithContext(ctx, Invites, text)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("this server does not know invitations: it is not a ccm-push-broker, or its version is too old: %w\n  hint: add the worker by hand, see docs/guide/workers.md", err)
	case err != nil && errors.Is(conn.LastError(), nats.ErrPermissionViolation):
		return fmt.Errorf("the broker: %w\n  hint: inviting workers needs the role coordinator or operator", conn.LastError())
	case err != nil:
		return failed("inviting a worker", err)
	}
	var a InviteAnswer
	if err := json.Unmarshal(msg.Data, &a); err != nil {
		return failed("inviting a worker", err)
	}
	if a.Error != "" {
		return errors.New("the broker: " + a.Error)
	}
	return nil
}
