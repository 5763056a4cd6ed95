package knownhost

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser]: the host as a part of the file.
func (k *KnownHost) Subject() string { return k.edited().Path + "\nhost " + k.Name }

// Reversal implements [modules.Reverser].
func (k *KnownHost) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var earlier *edit.Restore
	if before, ok := kept.(*KnownHost); ok {
		earlier = before.Restore
	}
	return k.edited().Reversal(h, earlier)
}

// Watch implements [modules.Watcher].
func (k *KnownHost) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{k.edited().Path}}, nil
}

type state struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Keys []string `json:"keys,omitempty"`
}

// Describe implements [modules.Describer].
func (k *KnownHost) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "openssh"}
	text, _, err := k.edited().Read(h.Files)
	if err != nil {
		return d, err
	}
	is := state{Name: k.Name, Path: k.edited().Path}
	for _, line := range edit.Parse(text).Lines {
		if e, ok := parse(line.Text); ok && slices.ContainsFunc(e.names, k.is) {
			d.Ensure, is.Keys = present, append(is.Keys, e.key)
		}
	}
	d.State = is
	return d, nil
}
