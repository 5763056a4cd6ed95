package tlskey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// A TLSKey is a private key in PEM. Its kind is only changed by given properties, so that an existing key is not
// replaced by mistake; the default for a new one is ECDSA.
type TLSKey struct {
	Name      string `json:"name" required:"true" looks:"^/" doc:"absolute path of the file"`
	Ensure    string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether it is there"`
	Algorithm string `json:"algorithm,omitempty" enum:"ecdsa,rsa,ed25519" doc:"a key with another algorithm is replaced; default: unchanged; for a new key ecdsa, or rsa if bits is given"`
	Bits      int    `json:"bits,omitempty" doc:"for rsa: its length in bits, 2048 to 16384; default: unchanged; for a new key 3072"`
	Curve     string `json:"curve,omitempty" enum:"p256,p384,p521" doc:"for ecdsa: its curve; default: unchanged; for a new key p256"`
	Format    string `json:"format,omitempty" enum:"pkcs8,traditional" doc:"PKCS #8, or the format of OpenSSL before 3.0 (RSA PRIVATE KEY, EC PRIVATE KEY); if the format differs, the same key is rewritten; default: unchanged; for a new key pkcs8"`
	Owner     string `json:"owner,omitempty" doc:"name or id of its owner; default: unchanged; for a new file, the user that the play runs as"`
	Group     string `json:"group,omitempty" doc:"name or id of its group; default: unchanged; for a new file, the group of the user that the play runs as"`
	Mode      string `json:"mode,omitempty" numbers:"refuse" looks:"^(0[oO])?0?[0-7]?[0-7]{3}$" default:"0600" doc:"permissions in octal"`
	// Was, set if the resource undoes another one, is the earlier file.
	Was *file.File `json:"was,omitempty" wire:"only"`

	informed modules.Circumstances
}

const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "tls_key",
		Doc: "Keeps a private key for TLS. It is made on the host and never leaves it: reports, diffs and records contain " +
			"only the kind of the key. For certificates, use the type tls_cert.",
		New: func() modules.Resource { return new(TLSKey) },
	}
}

// Requires implements [modules.Requirer].
func (k *TLSKey) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Inform implements [modules.Informed].
func (k *TLSKey) Inform(c modules.Circumstances) { k.informed = c }

const (
	leastBits   = 2048 // fewer bits are not secure: NIST SP 800-131A
	mostBits    = 16384
	defaultBits = 3072
)

// Validate implements [modules.Resource].
func (k *TLSKey) Validate() error {
	_, err := modules.ParseMode(cmp.Or(k.Mode, "0600"))
	errs := []error{modules.ValidatePath("name", k.Name), err}
	if k.Bits != 0 && (k.Bits < leastBits || k.Bits > mostBits) {
		errs = append(errs, modules.Errorf("bits", `"bits" must be from %[2]d to %[3]d, not %[1]d`, k.Bits, leastBits, mostBits))
	}
	switch algorithm := k.algorithm(); {
	case k.Bits != 0 && k.Curve != "":
		errs = append(errs, modules.Errorf("curve", "'bits' is of rsa and 'curve' of ecdsa"))
	case k.Bits != 0 && algorithm != pki.RSA:
		errs = append(errs, modules.Errorf("bits", "'bits' is of rsa, got 'algorithm: %s'", algorithm))
	case k.Curve != "" && algorithm != pki.ECDSA:
		errs = append(errs, modules.Errorf("curve", "'curve' is of ecdsa, got 'algorithm: %s'", algorithm))
	}
	return errors.Join(errs...)
}

// Warnings implements [modules.Warner].
func (k *TLSKey) Warnings() []*modules.PropertyError {
	const others = 0o007
	if mode, err := modules.ParseMode(cmp.Or(k.Mode, "0600")); err == nil && k.Ensure != absent && mode&others != 0 {
		return []*modules.PropertyError{{Path: "mode", Msg: "all users of the host may read the key", Hint: `write mode: "0640" with the group of the program that needs it`}}
	}
	return nil
}

// algorithm is the wanted algorithm; empty means any.
func (k *TLSKey) algorithm() string {
	switch {
	case k.Algorithm != "":
		return k.Algorithm
	case k.Bits != 0:
		return pki.RSA
	case k.Curve != "":
		return pki.ECDSA
	}
	return ""
}

// fresh describes a new key, which may replace another one.
func (k *TLSKey) fresh(format string) pki.Key {
	key := pki.Key{Algorithm: cmp.Or(k.algorithm(), pki.ECDSA), Format: cmp.Or(k.Format, format, pki.PKCS8)}
	switch key.Algorithm {
	case pki.RSA:
		key.Bits = cmp.Or(k.Bits, defaultBits)
	case pki.ECDSA:
		key.Curve = cmp.Or(k.Curve, "p256")
	case pki.Ed25519:
		key.Format = pki.PKCS8 // the only format of this algorithm
	}
	key.ID = "a new key in " + k.Name + ": " + key.Kind()
	return key
}

// differences are the properties of a key that differ.
func (k *TLSKey) differences(is pki.Key) (changes []modules.Change) {
	if want := k.algorithm(); want != "" && is.Algorithm != want {
		return []modules.Change{{Property: "algorithm", Have: is.Algorithm, Want: want}}
	}
	if k.Bits != 0 && is.Bits != k.Bits {
		changes = append(changes, modules.Change{Property: "bits", Have: strconv.Itoa(is.Bits), Want: strconv.Itoa(k.Bits)})
	}
	if k.Curve != "" && is.Curve != k.Curve {
		changes = append(changes, modules.Change{Property: "curve", Have: is.Curve, Want: k.Curve})
	}
	return changes
}

func (k *TLSKey) output() *pki.Output {
	return &pki.Output{Path: k.Name, Owner: k.Owner, Group: k.Group, Mode: k.Mode, Absent: k.Ensure == absent, Was: k.Was, Informed: k.informed}
}

// Check implements [modules.Resource].
func (k *TLSKey) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	o := k.output()
	if o.Settled() {
		return o.CheckSettled(ctx, h)
	}
	at, _, is, err := pki.LookKey(h, k.Name)
	if err != nil {
		return modules.Plan{}, err
	}
	will, action := is, "replaced the key"
	var changes []modules.Change
	if at.Kind == modules.Absent {
		will, action = k.fresh(""), "made a key"
		changes = []modules.Change{{Property: "ensure", Have: absent, Want: present}}
	} else if changes = k.differences(is); len(changes) > 0 {
		will = k.fresh(is.Format)
	}
	if k.Format != "" && is.Format != "" && is.Format != k.Format && will.Algorithm != pki.Ed25519 {
		if len(changes) == 0 {
			will.Format, action = k.Format, "wrote the key in another format"
		}
		changes = append(changes, modules.Change{Property: "format", Have: is.Format, Want: k.Format})
	}
	return o.Check(ctx, h, at, action, changes, modules.Effect{Kind: pki.KeyEffect, Key: k.Name, State: will})
}

// Apply implements [modules.Resource].
func (k *TLSKey) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return k.output().Apply(ctx, h, p, func() ([]byte, error) {
		at, signer, is, err := pki.LookKey(h, k.Name)
		if err != nil {
			return nil, err
		}
		want := is
		want.Format = cmp.Or(k.Format, is.Format)
		if at.Kind == modules.Absent || len(k.differences(is)) > 0 {
			want = k.fresh(is.Format)
			if signer, err = want.Make(); err != nil {
				return nil, fmt.Errorf("making a key: %w", err)
			}
		}
		return pki.Encode(signer, want.Format)
	})
}
