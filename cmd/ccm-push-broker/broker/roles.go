package broker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A Role sets the permissions of a user.
type Role string

// The roles of users.
const (
	Operator    Role = "operator"    // everything
	Coordinator Role = "coordinator" // begin runs, read data, register services
	Worker      Role = "worker"      // take hosts of runs
	Reader      Role = "reader"      // read data, manifests and registrations
)

// Roles are all of them.
var Roles = []Role{Operator, Coordinator, Worker, Reader}

// ParseRole returns the role with a name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles, r) {
		return r, nil
	}
	var names []string
	for _, r := range Roles {
		names = append(names, string(r))
	}
	return "", fmt.Errorf("unknown role %q; use one of %s", name, strings.Join(names, ", "))
}

// answerWithin is the timeout for the answer to a request: a certificate may have to be made first.
const answerWithin = 10 * time.Minute

// inbox begins the subjects at which a user is answered.
func (u User) inbox() string { return natsconn.Inbox(u.Key) + "." }

// permissions returns the subjects that the server lets a user publish and subscribe to; nil means all. The [filter]
// limits the effect of a message.
func (r Role) permissions(key string) *server.Permissions {
	if r == Operator {
		return nil
	}
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{},
		Subscribe: &server.SubjectPermission{Allow: []string{User{Key: key}.inbox() + ">"}}, // other inboxes have answers for other users
	}
	for _, rule := range rulesByRole()[r] {
		if rule.subject != answers {
			p.Publish.Allow = append(p.Publish.Allow, rule.subject)
		}
	}
	switch r {
	case Coordinator:
		p.Subscribe.Allow = append(p.Subscribe.Allow, queue.Asks, queue.Joins)
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: answerWithin}
	case Worker:
		p.Subscribe.Allow = append(p.Subscribe.Allow, queue.Orders)
	}
	return p
}
