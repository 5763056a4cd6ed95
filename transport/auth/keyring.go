package auth

import (
	"cmp"
	"sync"

	"github.com/ccm-push/ccm-push/transport"
)

// An Operator is the user of the controller who logs in.
type Operator struct {
	Home        string // where the default keys are; "" has none
	AgentSocket string // path of the agent's socket; "" means no agent
}

// noAgent as the agent of a target disables the agent.
const noAgent = "none"

// AgentFor is the socket of the agent for t, "" without one.
func (o Operator) AgentFor(t transport.Target) string {
	if t.Agent == noAgent {
		return ""
	}
	return cmp.Or(transport.ExpandHome(t.Agent, o.Home), o.AgentSocket)
}

// A Keyring holds the operator's keys in a run. The zero value works; it must not be copied after first use. All
// methods may be called from many goroutines.
type Keyring struct {
	files  keyFiles
	agents agentTable
	last   lastKeys
}

// Credentials are the keys and the password of a target that are known from files.
type Credentials struct {
	keyring      *Keyring
	target       transport.Target
	socket       string // socket of the agent; empty means none
	files        []keyFile
	certificates []userCert
}

// Credentials reads the files of t. Every error is a [transport.HostError].
func (k *Keyring) Credentials(o Operator, t transport.Target) (*Credentials, error) {
	files, err := k.files.forTarget(t, o.Home)
	if err != nil {
		return nil, t.Fail(transport.OpAuthenticate, err, transport.HintOf(err))
	}
	certificates, err := k.files.certificates(t, files, o.Home)
	if err != nil {
		return nil, t.Fail(transport.OpAuthenticate, err, transport.HintOf(err))
	}
	return &Credentials{keyring: k, target: t, socket: o.AgentFor(t), files: files, certificates: certificates}, nil
}

// lastKeys remembers which key let each user in.
type lastKeys struct {
	mu     sync.Mutex
	byUser map[string]string
}

func (l *lastKeys) get(user string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byUser[user]
}

func (l *lastKeys) set(user, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byUser == nil {
		l.byUser = make(map[string]string)
	}
	l.byUser[user] = key
}
