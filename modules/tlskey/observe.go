package tlskey

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// Subject implements [modules.Reverser].
func (k *TLSKey) Subject() string { return k.Name }

// Reversal implements [modules.Reverser]: the current file.
func (k *TLSKey) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var was *file.File
	if before, ok := kept.(*TLSKey); ok {
		was = before.Was
	}
	return k.output().Reversal(ctx, h, was)
}

// Watch implements [modules.Watcher].
func (k *TLSKey) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	return k.output().Watch(ctx, h)
}

// state contains the public facts about a key.
type state struct {
	Name      string `json:"name"`
	Algorithm string `json:"algorithm,omitempty"`
	Bits      int    `json:"bits,omitempty"`
	Curve     string `json:"curve,omitempty"`
	Format    string `json:"format,omitempty"`
	PublicKey string `json:"public_key,omitempty"` // SHA-256 of the public key
	Owner     string `json:"owner,omitempty"`
	Group     string `json:"group,omitempty"`
	Mode      string `json:"mode,omitempty"`
}

// Describe implements [modules.Describer].
func (k *TLSKey) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "go"}
	at, _, is, err := pki.LookKey(h, k.Name)
	if err != nil {
		return d, err
	}
	s := state{Name: k.Name}
	if at.Kind != modules.Absent {
		d.Ensure = present
		s = state{
			Name: k.Name, Algorithm: is.Algorithm, Bits: is.Bits, Curve: is.Curve, Format: is.Format, PublicKey: is.ID,
			Owner: h.Accounts.UserName(ctx, at.UID), Group: h.Accounts.GroupName(ctx, at.GID), Mode: modules.FormatMode(at.Mode),
		}
	}
	d.State = s
	return d, nil
}
