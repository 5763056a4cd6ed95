package dial

import (
	"context"
	"errors"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// IsKnown reports whether known_hosts has a key or an authority for the host,
// without asking it.
func (d *Dialer) IsKnown(t transport.Target) (bool, error) {
	known, err := d.openKnown(t)
	if err != nil {
		return false, t.Fail(transport.OpHostKey, err, transport.HintOf(err))
	}
	return known.Knows(t.KnownHost()), nil
}

// TrustFile is the file that keys of the host are added to; "" if there is none.
func (d *Dialer) TrustFile(t transport.Target) string { return t.KnownHostsFiles(d.Home).Own }

// Trusted are keys of a host that the operator vouches for.
type Trusted struct {
	Target transport.Target
	Keys   []ssh.PublicKey
}

// Trust adds keys to the known_hosts files of their hosts: to each file all of them
// at once, with its lock held. A host that has become known in the meantime is left
// alone. The errors are those of the hosts, in their order; they are nil for all if
// everything was added.
func (d *Dialer) Trust(ctx context.Context, hosts []Trusted) []error {
	all := make([]knownhosts.Trusted, len(hosts))
	for i, h := range hosts {
		all[i] = knownhosts.Trusted{Host: h.Target.KnownHost(), Files: h.Target.KnownHostsFiles(d.Home), Keys: h.Keys}
	}
	errs := d.known.Trust(ctx, all)
	for i, err := range errs {
		if err != nil {
			errs[i] = hosts[i].Target.Fail(transport.OpHostKey, err, trustHint(err))
		}
	}
	return errs
}

func trustHint(err error) string {
	changed, ok := errors.AsType[*knownhosts.ChangedError](err)
	switch {
	case ok:
		return changedHint(changed, "trust it")
	case errors.Is(err, knownhosts.ErrNoFile):
		return noOwnFile
	}
	return ""
}
