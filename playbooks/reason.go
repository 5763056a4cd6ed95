package playbooks

import (
	"errors"
	"net"
	"syscall"

	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// reasons are the codes of the field reason of events, in the order in which an error is compared
// with them: the first whose errors has one that it wraps.
var reasons = []struct {
	code   string
	errors []error
}{
	{"host_key_unknown", []error{transport.ErrHostKeyUnknown}},
	{"host_key_changed", []error{transport.ErrHostKeyChanged}},
	{"host_key_revoked", []error{transport.ErrHostKeyRevoked}},
	{"authentication_refused", []error{transport.ErrAuth, transport.ErrPassphrase}},
	{"become_refused", []error{transport.ErrBecome}},
	{"no_space", []error{transport.ErrNoSpace}},
	{"no_build", []error{transport.ErrNoBuild}},
	{"not_installed", []error{transport.ErrInstall}},
	{"timeout", []error{transport.ErrTimeout, syscall.ETIMEDOUT}},
	{"no_answer", []error{transport.ErrNotModule}},
	{"connection_refused", []error{syscall.ECONNREFUSED}},
	{"no_route", []error{syscall.EHOSTUNREACH, syscall.ENETUNREACH}},
}

// reasonOf returns the code of the error of a host, or "" if none is known.
func reasonOf(err error) string {
	if refused, ok := errors.AsType[session.Refused](err); ok {
		switch {
		case refused.Own:
			return "same_machine"
		case refused.Locked:
			return "locked"
		}
		return ""
	}
	if _, ok := errors.AsType[*session.Late](err); ok {
		return "timeout"
	}
	for _, r := range reasons {
		for _, is := range r.errors {
			if errors.Is(err, is) {
				return r.code
			}
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "name_not_found"
	}
	return ""
}
