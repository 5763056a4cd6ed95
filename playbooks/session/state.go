package session

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Bounds of what a host may say of how a resource is.
const (
	maxState  = 256 << 10 // bytes of each of its parts
	maxAnswer = wire.MaxFromHost
	maxTries  = 1_000_000
)

// checkState holds against their bounds what a result says of the state of a resource
// and of the way there. query says that the state is an answer, which may be longer.
func checkState(r *wire.Result, query bool) error {
	switch r.ErrorKind {
	case "", modules.ErrorUnknown, modules.ErrorForbidden, modules.ErrorFailed:
	default:
		return breach("the host reports the kind of error %.64q", r.ErrorKind)
	}
	if r.Tries < 0 || r.Tries > maxTries {
		return breach("the host reports %d tries", r.Tries)
	}
	s := r.State
	if s == nil {
		return nil
	}
	most := maxState
	if query {
		most = maxAnswer
	}
	if len(s.Before) > most || len(s.After) > most {
		return breach("the host reports a state of more than %d KiB", most>>10)
	}
	for _, what := range s.Restart {
		if len(what) > most {
			return breach("the host reports a thing to restart of more than %d KiB", most>>10)
		}
	}
	return nil
}
