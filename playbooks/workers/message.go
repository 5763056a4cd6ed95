package workers

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
	"github.com/ccm-push/ccm-push/templates"
)

// Kinds of signed messages, so that no message is read as another kind.
const (
	ticketKind   = "ticket"
	questionKind = "question"
	answerKind   = "answer"
	orderKind    = "order"
	leaseKind    = "lease"
	presenceKind = "presence"
)

// A ticket waits in the queue. It contains nothing worth knowing.
type ticket struct {
	Run   string    `json:"run"`   // name of the run in the queue
	Shard string    `json:"shard"` // unguessable
	Until time.Time `json:"until"` // time after which it is invalid
	Stamp []byte    `json:"stamp"` // stamp of its creation
}

// A question is a worker's request for the hosts of a ticket.
type question struct {
	Ticket    ticket `json:"ticket"`
	Nonce     string `json:"nonce"`     // repeated in the answer
	Recipient string `json:"recipient"` // its key of this run, for data sent to it
	SSHKey    []byte `json:"ssh_key"`   // its key of this run, to log in to hosts with
	Build     string `json:"build"`     // build of the host programs: both ends must be the same ccm-push
	Version   string `json:"version"`
	Stamp     []byte `json:"stamp,omitempty"`    // the last one that the coordinator has given
	Prepared  bool   `json:"prepared,omitempty"` // it has the content of the run
	// Addresses from which the worker connects to hosts; none means unknown.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
}

// An answer is where what the worker needs lies, sealed to it.
type answer struct {
	Nonce string `json:"nonce"`
	// Over reports that the shard has ended, and Refused why the worker does not get it.
	Over    bool   `json:"over,omitempty"`
	Refused string `json:"refused,omitempty"`
	// Stamp is a new stamp. Stale reports that the question had none that is new enough, so that it may have come late.
	Stamp []byte  `json:"stamp,omitempty"`
	Stale bool    `json:"stale,omitempty"`
	Run   *object `json:"run,omitempty"`   // a runContent
	Shard *object `json:"shard,omitempty"` // a shardContent
}

// An object lies in the queue.
type object struct {
	Name   string `json:"name"`
	SHA256 []byte `json:"sha256"` // hash of the stored object
}

// An order goes to all workers of a run.
type order struct {
	Run  string `json:"run"`
	Stop bool   `json:"stop,omitempty"` // after the resources that are running
	Kill bool   `json:"kill,omitempty"` // those too
}

// A runContent has the data of a run that a worker needs for any host.
type runContent struct {
	Recipe    parcel.Recipe       `json:"recipe"`
	Files     []byte              `json:"files"` // packed
	Opened    parcel.Opened       `json:"opened"`
	Options   playbooks.Options   `json:"options"`
	Names     playbooks.HostNames `json:"names"`
	Environ   map[string]any      `json:"environ,omitempty"`
	Extra     []layer             `json:"extra,omitempty"`
	Facts     yamlpos.Portable    `json:"facts"`
	User      string              `json:"user,omitempty"` // users of login and escalation: see reach.Options
	LocalUser string              `json:"local_user"`
	Become    become              `json:"become"`
}

// become has the command line's settings of escalation.
type become struct {
	Become   bool   `json:"become,omitempty"`
	User     string `json:"user,omitempty"`
	Method   string `json:"method,omitempty"`
	Password []byte `json:"password,omitempty"`
}

// A layer is data of the command line.
type layer struct {
	Name string           `json:"name"`
	Deep bool             `json:"deep,omitempty"`
	Node yamlpos.Portable `json:"node"`
	Bare bool             `json:"bare,omitempty"` // set if it is not in a file
}

func layersOf(list []templates.Layer) (out []layer) {
	for _, l := range list {
		one := layer{Name: l.Name, Deep: l.Deep, Node: yamlpos.Portable{Node: l.Node}}
		if l.Node == nil {
			one.Bare, one.Node.Node = true, yamlpos.From(&yamlpos.Node{File: l.Name}, l.Values)
		}
		out = append(out, one)
	}
	return out
}

func (l layer) layer() (templates.Layer, error) {
	if l.Node.Node == nil {
		return templates.Layer{}, fmt.Errorf("the data %q is missing", l.Name)
	}
	values, ok := l.Node.Any().(map[string]any)
	if !ok {
		return templates.Layer{}, fmt.Errorf("the data %q is not a map", l.Name)
	}
	out := templates.Layer{Name: l.Name, Deep: l.Deep, Values: values, Node: l.Node.Node}
	if l.Bare {
		out.Node = nil
	}
	return out, nil
}

// A shardContent has the data that a worker needs for its hosts.
type shardContent struct {
	Handout     sealing.HandoutID           `json:"handout"`
	Key         sealing.FrameKey            `json:"key"`
	Turns       []playbooks.Turn            `json:"turns"`
	Inventory   inventory.Part              `json:"inventory"`
	Targets     map[string]reach.WireTarget `json:"targets"`
	KnownHosts  string                      `json:"known_hosts"`
	Certificate []byte                      `json:"certificate"` // certificate of the worker's key, for those hosts
	Renew       time.Duration               `json:"renew"`       // time after which it requests another one
}

// A said is a worker's report about a shard: events, and the hosts that have ended.
type said struct {
	Events   []events.Carried             `json:"events,omitempty"`
	Ends     map[string]playbooks.TurnEnd `json:"ends,omitempty"`
	Warnings []string                     `json:"warnings,omitempty"`
	// Failed is the reason why no host of the shard can be processed. Over reports that the worker has completed the
	// shard.
	Failed string `json:"failed,omitempty"`
	Over   bool   `json:"over,omitempty"`
}

// Requests of a worker that has hosts use the same queue as questions about tickets. They are sealed with a key that only the coordinator
// and this worker know. A worker repeats a request that takes long, under its number.

// asks is the first byte of such a request; questions about tickets are JSON.
const asks = 0

// asked is a request, or a piece of a long one.
type asked struct {
	Number int    `json:"number"` // in the assignment
	Host   string `json:"host"`
	Offset int    `json:"offset,omitempty"` // offset of the piece, in bytes
	More   bool   `json:"more,omitempty"`   // other pieces follow
	Text   []byte `json:"text"`             // a [playbooks.Question]
	// Renew requests another certificate, for the hosts of the worker or for the lent host Lent. Errands requests the orders after the
	// order with this number, and reports that the worker is present. Neither has a host.
	Renew   bool   `json:"renew,omitempty"`
	Lent    string `json:"lent,omitempty"`
	Errands *int   `json:"errands,omitempty"`
	// Answered means that the worker has the answers to all requests before this number.
	Answered int `json:"answered,omitempty"`
}

// answered is the answer to a request.
type answered struct {
	Later  bool             `json:"later,omitempty"` // no answer yet
	Over   bool             `json:"over,omitempty"`  // the worker has lost its hosts
	Answer playbooks.Answer `json:"answer"`
	Object *object          `json:"object,omitempty"` // object with a long answer, sealed with the same key
	// Certificate is the current certificate; empty means that it has not changed. Renew is the time after which the worker requests
	// another one. For a host that is not lent any more both are empty.
	Certificate []byte        `json:"certificate,omitempty"`
	Renew       time.Duration `json:"renew,omitempty"`
	Errands     []errand      `json:"errands,omitempty"`
}

const (
	// laterTime is the time after which a coordinator answers Later.
	laterTime = 3 * time.Second
	// maxAsked limits a piece of a request, in bytes: it grows by half in JSON.
	maxAsked = queue.MaxSaid / 4
	// maxQuestion limits a request, in bytes, and maxPending the number of requests of a worker at once.
	maxQuestion = 64 << 20
	maxPending  = 10_000
)
