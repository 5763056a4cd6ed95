package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// agentTimeout bounds the listing of keys. A signature has the whole time of
// the login, since a person may have to confirm it.
const agentTimeout = 2 * time.Second

// AskAgent reads the key list of the agent for a target, once. Logins wait for the list; reading it while the host is
// dialled saves that time.
func (k *Keyring) AskAgent(ctx context.Context, socket string) {
	k.agents.list(socket).load(ctx, socket)
}

// An agentTable is the agents of a run, by their sockets.
type agentTable struct {
	mu    sync.Mutex
	lists map[string]*agentList
}

func (a *agentTable) list(socket string) *agentList {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lists == nil {
		a.lists = make(map[string]*agentList)
	}
	l := a.lists[socket]
	if l == nil {
		l = &agentList{done: socket == ""}
		a.lists[socket] = l
	}
	return l
}

// An agentList holds the keys of an agent, which is read once in a run.
type agentList struct {
	mu     sync.Mutex
	done   bool
	keys   []*agent.Key
	remark string // reason if there are no keys
}

// load reads the agent's keys once. A failure is remembered: an agent that hangs must not delay every host.
func (a *agentList) load(ctx context.Context, socket string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	err := withAgent(ctx, socket, func(c agent.ExtendedAgent) (err error) {
		a.keys, err = c.List()
		return err
	})
	if errors.Is(ctx.Err(), context.Canceled) {
		return // of this host only
	}
	a.done = true
	if err != nil {
		a.remark = fmt.Sprintf("the agent at %s gave no keys: %v", socket, err)
	}
}

// candidates lists the agent's keys in its order, certificates among them.
func (a *agentList) candidates(ctx context.Context, socket string) (candidates []candidate, remark string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.keys {
		public, err := ssh.ParsePublicKey(k.Blob)
		if err != nil {
			continue // a type that x/crypto does not know
		}
		name := fmt.Sprintf("agent key %q", k.Comment)
		if knownhosts.IsCertificate(public.Type()) {
			name = fmt.Sprintf("agent certificate %q", k.Comment)
		}
		candidates = append(candidates, newCandidate(name, &agentSigner{public: public, sign: func(data []byte, flags agent.SignatureFlags) (sig *ssh.Signature, err error) {
			err = withAgent(ctx, socket, func(c agent.ExtendedAgent) error {
				sig, err = c.SignWithFlags(public, data, flags)
				return err
			})
			return sig, err
		}}))
	}
	return distinct(candidates), a.remark
}

// distinct adds the fingerprint to names that several keys have.
func distinct(candidates []candidate) []candidate {
	count := make(map[string]int)
	for _, c := range candidates {
		count[c.name]++
	}
	for i, c := range candidates {
		if count[c.name] > 1 {
			candidates[i].name += " " + ssh.FingerprintSHA256(knownhosts.PlainKey(c.PublicKey()))
		}
	}
	return candidates
}

// has reports whether the agent holds a key.
func (a *agentList) has(key ssh.PublicKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.keys {
		if key != nil && string(k.Blob) == string(key.Marshal()) {
			return true
		}
	}
	return false
}

// empty reports whether the agent has no key.
func (a *agentList) empty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys) == 0
}

// withAgent talks to the agent over a connection of its own, which lives no
// longer than ctx: hosts neither wait for each other nor for a stuck agent.
func withAgent(ctx context.Context, socket string, use func(agent.ExtendedAgent) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err = use(agent.NewClient(conn))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// An agentSigner has the agent sign.
type agentSigner struct {
	public ssh.PublicKey
	sign   func(data []byte, flags agent.SignatureFlags) (*ssh.Signature, error)
}

func (s *agentSigner) PublicKey() ssh.PublicKey { return s.public }

func (s *agentSigner) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	return s.sign(data, 0)
}

func (s *agentSigner) SignWithAlgorithm(_ io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	switch algorithm {
	case ssh.KeyAlgoRSASHA256:
		return s.sign(data, agent.SignatureFlagRsaSha256)
	case ssh.KeyAlgoRSASHA512:
		return s.sign(data, agent.SignatureFlagRsaSha512)
	}
	return s.sign(data, 0)
}
