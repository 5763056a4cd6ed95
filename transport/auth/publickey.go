package auth

import (
	"context"
	"io"
	"slices"

	"golang.org/x/crypto/ssh"
)

const (
	// maxCandidates limits the keys that are offered to a host: sshd closes the connection after six failures by
	// default (sshd_config, MaxAuthTries).
	maxCandidates = 6
	// passwordTries of these are reserved for a password, for which there are two methods.
	passwordTries = 2
)

// signers implements the publickey method: the keys to try, in order.
func (l *Login) signers(ctx context.Context) []ssh.Signer {
	agent := l.keyring.agents.list(l.socket)
	agent.load(ctx, l.socket) // waits if the agent is still being read
	fromAgent, remark := agent.candidates(ctx, l.socket)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.arranged {
		l.arranged = true
		t := l.target
		all, remarks := sources{
			files: l.files, certificates: l.certificates, agent: fromAgent,
			explicit: len(t.PrivateKeys) > 0, only: t.IdentitiesOnly, last: l.keyring.last.get(t.User),
		}.candidates()
		l.remarks = remarks
		l.candidates = l.affordable(all)
		if remark != "" {
			l.remarks = append(l.remarks, remark)
		}
	}
	signers := make([]ssh.Signer, len(l.candidates))
	for i, c := range l.candidates {
		signers[i] = recorder{c, l}
	}
	return signers
}

// affordable returns the keys within the limit for a host.
func (l *Login) affordable(all []candidate) []candidate {
	var list []candidate
	for _, c := range all {
		if c, ok := c.restrict(l.target.Algorithms.PublicKeys); ok {
			list = append(list, c)
		}
	}
	limit := maxCandidates
	if l.hasPassword() {
		limit -= passwordTries
	}
	asked := min(limit, len(list))
	l.held = len(list) - asked
	return list[:asked]
}

// A recorder records which keys are offered and which one signs: x/crypto does not report it.
type recorder struct {
	candidate
	login *Login
}

// PublicKey implements [ssh.Signer].
func (r recorder) PublicKey() ssh.PublicKey {
	l := r.login
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.asked, func(c candidate) bool { return c.id() == r.candidate.id() }) {
		l.asked = append(l.asked, r.candidate)
	}
	return r.candidate.PublicKey()
}

// SignWithAlgorithm implements [ssh.AlgorithmSigner].
func (r recorder) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (sig *ssh.Signature, err error) {
	l := r.login
	l.mu.Lock()
	l.signed = r.candidate.id()
	l.mu.Unlock()
	l.signing(func() { sig, err = r.candidate.SignWithAlgorithm(rand, data, algorithm) })
	return sig, err
}
