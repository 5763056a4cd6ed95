package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// Invited is the role of a user that a coordinator has invited: it sends one message to its coordinator, and is a user until the
// invitation is used or its time is over.
const Invited Role = "invited"

const (
	invitePrefix = "invite-" // starts the names of these users
	maxInvited   = 20        // at once
	// usedTime is the time that an invited user remains after its worker was admitted: the worker must receive the
	// answer.
	usedTime = 20 * time.Second
)

// invitations answers coordinators that invite workers.
type invitations struct {
	broker *Broker
	mu     sync.Mutex      // one request at a time
	used   map[string]bool // keys of invitations whose worker was admitted
}

// serve answers requests until the subscription ends.
func (i *invitations) serve(conn *nats.Conn) (*nats.Subscription, error) {
	return conn.Subscribe(queue.Invites, func(m *nats.Msg) {
		var a queue.InviteAnswer
		if err := i.handle(m.Data); err != nil {
			a.Error = err.Error()
		}
		if text, err := json.Marshal(a); err == nil && m.Reply != "" {
			_ = m.Respond(text)
		}
	})
}

func (i *invitations) handle(text []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var r queue.InviteRequest
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || !nkeys.IsValidPublicUserKey(r.Key) {
		return errors.New("the request is not valid")
	}
	if i.broker.Server != "" {
		return errors.New("with --server the users are in the configuration of nats-server: add the worker with ccm-push-broker user add")
	}
	users, err := i.broker.Users()
	if err != nil {
		return err
	}
	invited, open := "", 0
	for _, u := range users {
		switch {
		case u.Role == Invited && u.Key == r.Key:
			invited = u.Name
		case u.Role == Invited:
			open++
		case r.Admit != nil && u.Name == r.Admit.Name:
			return fmt.Errorf("the user %q already exists\n  hint: pass another --name, or remove this user on the machine of the broker: %s", u.Name, i.broker.removal(u.Name))
		case u.Key == r.Key || r.Admit != nil && u.Key == r.Admit.Key:
			return errors.New("the key belongs to another user")
		}
	}
	switch {
	case r.Invite && (invited != "" || r.Admit != nil || r.Revoke):
		return errors.New("the request is not valid")
	case r.Invite && open >= maxInvited:
		return fmt.Errorf("%d invitations are open: wait until some have expired", open)
	case r.Invite:
		name := invitePrefix + strings.ToLower(r.Key[len(r.Key)-12:])
		return i.broker.writeUser(name, invitation(r.Key, queue.InviteTime))
	case invited == "" || i.used[r.Key]:
		return errors.New("the invitation has expired, or was used")
	case r.Revoke:
		return i.broker.RemoveUser(invited)
	case r.Admit == nil || !nkeys.IsValidPublicUserKey(r.Admit.Key) || strings.HasPrefix(r.Admit.Name, invitePrefix):
		return errors.New("the request is not valid")
	}
	sites, err := sitesText(r.Admit.Sites)
	if err != nil {
		return errors.New("the request is not valid")
	}
	if err := i.broker.writeUser(r.Admit.Name, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Admit.Key, Worker, sites))); err != nil {
		return err
	}
	i.broker.Say(fmt.Sprintf("user %s was added with the role worker, by invitation", r.Admit.Name))
	if i.used == nil {
		i.used = map[string]bool{}
	}
	i.used[r.Key] = true
	return i.broker.writeUser(invited, invitation(r.Key, usedTime))
}

// invitation returns the content of the file of an invited user.
func invitation(key string, lasts time.Duration) string {
	return fmt.Sprintf("%s %s %d", key, Invited, time.Now().Add(lasts).Unix())
}

// writeUser writes the file of a user.
func (b *Broker) writeUser(name, text string) error {
	path, err := b.userFile(name)
	if err == nil {
		err = errors.Join(writeWhole(path, []byte(text+"\n")), b.giveAway(path))
	}
	return err
}

// expired reports whether the time in the file of an invited user has passed.
func expired(until string, now time.Time) bool {
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err != nil || now.Unix() >= seconds
}

// dropExpired removes the file of an invited user that has expired.
func (b *Broker) dropExpired(name string) {
	if err := os.Remove(filepath.Join(b.Dir, "users", name)); err != nil && !errors.Is(err, fs.ErrNotExist) && b.Say != nil {
		b.Say("warning: removing an invitation that has expired: " + err.Error())
	}
}
