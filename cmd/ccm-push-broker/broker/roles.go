package broker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A Role is what a user may do.
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

// ParseRole gives the role of a name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles, r) {
		return r, nil
	}
	var names []string
	for _, r := range Roles {
		names = append(names, string(r))
	}
	return "", fmt.Errorf("role %q: there are %s", name, strings.Join(names, ", "))
}

// answerWithin is how long who was asked may take to answer: a certificate may have to be made first.
const answerWithin = 10 * time.Minute

// permissions are what the server lets a user with a key do; nil is everything. Streams of runs have
// names of their own, which subjects cannot bound. What is read of a stream is bounded in their place: the
// subject of a request names what it filters by.
func (r Role) permissions(key string) *server.Permissions {
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{},
		Subscribe: &server.SubjectPermission{Allow: []string{natsconn.Inbox(key) + ".>"}}, // those of others hold what they are told
	}
	const objects, keys = "$O.>", "$KV.>"
	switch r {
	case Coordinator:
		p.Publish.Allow = []string{"$JS.>", objects, queue.Subjects, queue.Claims, registry.Subjects} // and no other keys
		p.Subscribe.Allow = append(p.Subscribe.Allow, queue.Asks)
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: answerWithin}
	case Worker:
		work := queue.WorkStream
		p.Publish.Allow = append(reads(objects), queue.Asks, queue.Says, "$JS.API.CONSUMER.CREATE."+work+".>", "$JS.API.CONSUMER.MSG.NEXT."+work+".*", "$JS.ACK."+work+".>")
		p.Subscribe.Allow = append(p.Subscribe.Allow, queue.Orders)
	case Reader:
		p.Publish.Allow = append(reads(objects, keys, registry.Subjects), "$JS.API.CONSUMER.MSG.NEXT."+registry.Stream+".*")
	default:
		return nil
	}
	return p
}

// reads are the requests by which what stands under subjects is read.
func reads(subjects ...string) []string {
	all := []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.DELETE.*.*", "$JS.FC.>"}
	for _, s := range subjects {
		all = append(all, "$JS.API.DIRECT.GET.*."+s, "$JS.API.CONSUMER.CREATE.*.*."+s)
	}
	return all
}
