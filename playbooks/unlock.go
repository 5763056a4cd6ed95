package playbooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
)

// maxPassphrases is how often the passphrase of one file is prompted for.
const maxPassphrases = 3

// Unlock opens the encrypted key files that are needed to reach hosts and that the agent does not have, each once. It
// contacts no host. A file without a passphrase stays encrypted: a host that needs it reports that.
func (r *Runner) Unlock(ctx context.Context, hosts []*inventory.Host) error {
	if r.Connect.Passphrase == nil {
		return nil
	}
	asked := map[string]bool{}
	for _, h := range hosts {
		target, err := r.target(h)
		if err != nil {
			continue // CheckFiles reports it
		}
		for _, t := range append([]transport.Target{target}, target.Jump...) {
			for _, path := range r.Dialer.LockedKeys(ctx, t) {
				if asked[path] {
					continue
				}
				asked[path] = true
				if err := r.unlock(ctx, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *Runner) unlock(ctx context.Context, path string) error {
	for n := range maxPassphrases {
		passphrase, err := r.Connect.Passphrase(ctx, path, n > 0)
		if err != nil || passphrase == nil {
			return err
		}
		if err = r.Dialer.Unlock(path, passphrase); !errors.Is(err, transport.ErrPassphrase) {
			return err
		}
	}
	return fmt.Errorf("private key %s: %w", path, transport.ErrPassphrase)
}

// target returns the target for a host of the inventory.
func (r *Runner) target(h *inventory.Host) (transport.Target, error) {
	if t, given := r.Targets[h.Name]; given {
		return t, nil
	}
	if r.Targets != nil { // a worker: its own configuration is not for hosts of a coordinator
		return transport.Target{}, fmt.Errorf("the coordinator has not sent how %s is reached", h.Name)
	}
	return r.Connect.Target(r.Inventory, h, h.Connection())
}
