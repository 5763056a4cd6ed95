package seboolean

import (
	"cmp"
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Subject implements [modules.Reverser].
func (b *Seboolean) Subject() string { return "seboolean " + b.Name }

// Reversal implements [modules.Reverser]: the stored value of the boolean, and its current value.
func (b *Seboolean) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	system, err := semanage.Find(h.Files)
	if err != nil {
		return nil, err
	}
	have, err := b.look(h, system)
	if err != nil {
		return nil, err
	}
	back := map[string]any{}
	switch {
	case b.Ensure != absent && !b.persistent():
		back["value"], back["persistent"] = have.live == "on", false
		return back, nil
	case have.kept == "":
		back["ensure"] = absent
	default:
		back["value"] = have.kept == "on"
	}
	if have.live != "" {
		back["live"] = have.live == "on"
	}
	return back, nil
}

// Watch implements [modules.Watcher]: the kernel sends no event when it changes.
func (b *Seboolean) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	sources := semanage.Watched(h.Files, store)
	sources.Polled = "the value that the running SELinux has"
	return sources, nil
}

// Describe implements [modules.Describer].
func (b *Seboolean) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	system, err := semanage.Find(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	have, err := b.look(h, system)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Value string `json:"value,omitempty"` // now
		Kept  string `json:"kept,omitempty"`
	}{have.live, have.kept}
	ensure := present
	if cmp.Or(have.kept, have.live) == "" {
		ensure = absent
	}
	return modules.Description{Ensure: ensure, Provider: "selinux", State: is}, nil
}
