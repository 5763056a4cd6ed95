package pki

import (
	"crypto"
	"io"

	"github.com/ccm-push/ccm-push/modules"
)

// KeyEffect is the kind of effect whose key is a path and whose state is the [Key] that will be there.
const KeyEffect modules.EffectKind = "tls_key"

// MaxSize bounds, in bytes, the files of keys and certificates.
const MaxSize = modules.MaxKept

// Found is the current state of a path.
type Found struct {
	modules.FileInfo // Kind Absent if the path does not exist
	Text             []byte
	// Predicted is the state of an effect of the given kind, if a check run knows no more about the future content of
	// the file.
	Predicted any
}

// Look returns the state of a path, links followed, or the predicted state from an effect of that kind.
func Look(h modules.Host, path string, kind modules.EffectKind) (Found, error) {
	if p, planned := h.Forecast.Lookup(modules.PathEffect, path); planned {
		if at := p.(modules.PathState); at.Kind == modules.Regular && at.Partial {
			if state, ok := h.Forecast.Lookup(kind, path); ok {
				return Found{FileInfo: at.FileInfo, Predicted: state}, nil
			}
		}
	}
	at, err := modules.Follow(h.Files, path)
	switch {
	case modules.NotThere(err):
		return Found{FileInfo: modules.FileInfo{Kind: modules.Absent}}, nil
	case err != nil:
		return Found{}, modules.PermissionRefusal(err)
	case at.Kind != modules.Regular:
		return Found{}, modules.Refuse("%s is not a file", path)
	case at.Size > MaxSize:
		return Found{}, modules.Refuse("%s has more than %s", path, modules.FormatSize(MaxSize))
	}
	r, err := modules.OpenSeen(h.Files, path, at)
	if err != nil {
		return Found{}, modules.PermissionRefusal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, MaxSize))
	return Found{FileInfo: at, Text: text}, err
}

// LookKey finds the private key at a path. The signer is nil if the key is only predicted, or the path does not exist.
func LookKey(h modules.Host, path string) (Found, crypto.Signer, Key, error) {
	at, err := Look(h, path, KeyEffect)
	if err != nil || at.Kind == modules.Absent {
		return at, nil, Key{}, err
	}
	if at.Predicted != nil {
		return at, nil, at.Predicted.(Key), nil
	}
	signer, key, err := ParseKey(at.Text)
	if err != nil {
		return at, nil, Key{}, modules.Refuse("%w", said(err, path))
	}
	return at, signer, key, nil
}
