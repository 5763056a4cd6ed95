package trust

import (
	"errors"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// A verdict is the decision about one host.
type verdict struct {
	candidate
	state  state
	keys   []ssh.PublicKey // to be added
	others []ssh.PublicKey // keys without a fingerprint
	why    string
	hint   string
}

// state is the status of a host in the output.
type state string

const (
	stateNew         state = "new"
	stateAdded       state = "added"
	stateKnown       state = "known"
	stateChanged     state = "changed"
	stateRevoked     state = "revoked"
	stateRefused     state = "refused"  // because of the fingerprints
	stateDeclined    state = "declined" // declined at the prompt
	stateFailed      state = "failed"   // the file could not be written
	stateUnreachable state = "unreachable"
)

// failed sorts an error of the host.
func (v *verdict) failed(err error) {
	v.state, v.keys = stateUnreachable, nil
	switch {
	case errors.Is(err, transport.ErrHostKeyChanged) && len(v.scan.Keys) > 0:
		v.state = stateChanged
	case errors.Is(err, transport.ErrHostKeyRevoked):
		v.state = stateRevoked
	}
	v.why = err.Error()
	if he, ok := errors.AsType[*transport.HostError](err); ok {
		v.why, v.hint = he.Cause(), he.Hint
		if v.state != stateUnreachable {
			v.why = he.Err.Error()
		}
	}
}

// compare holds the keys of a new host against fingerprints.
func (v *verdict) compare(f *Fingerprints) {
	v.keys, v.others = f.hosts.vouched(v.target, v.scan.Keys)
	if len(v.keys) > 0 {
		return
	}
	v.state = stateRefused
	if len(f.hosts.of(v.target)) > 0 {
		v.why = "it shows none of the keys that " + f.file + " has for it"
	} else {
		v.why = f.file + " has nothing for it"
		v.hint = "the file names a host as the inventory does, or as known_hosts would: " + v.target.KnownName()
	}
}
