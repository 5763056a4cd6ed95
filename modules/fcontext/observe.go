package fcontext

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Subject implements [modules.Reverser].
func (f *Fcontext) Subject() string { return "fcontext " + f.key() }

// Reversal implements [modules.Reverser]: the stored label, and the paths of restorecon.
func (f *Fcontext) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	_, have, err := f.look(h)
	if err != nil {
		return nil, err
	}
	back := map[string]any{"target": f.target(), "ftype": f.ftype()}
	if len(f.Restorecon) > 0 {
		back["restorecon"] = f.Restorecon
	}
	if have.Type == "" {
		back["ensure"] = absent
		return back, nil
	}
	for property, value := range map[string]string{"type": have.Type, "user": have.User, "range": have.Range} {
		if value != "" {
			back[property] = value
		}
	}
	return back, nil
}

// Watch implements [modules.Watcher]: no event is sent for labels in a tree.
func (f *Fcontext) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	sources := semanage.Watched(h.Files, store)
	if len(f.Restorecon) > 0 {
		sources.Polled = "the labels that files have"
	}
	return sources, nil
}

// Describe implements [modules.Describer].
func (f *Fcontext) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	_, have, err := f.look(h)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Type  string `json:"type,omitempty"`
		User  string `json:"user,omitempty"`
		Range string `json:"range,omitempty"`
	}{have.Type, have.User, have.Range}
	ensure := present
	if have.Type == "" {
		ensure = absent
	}
	return modules.Description{Ensure: ensure, Provider: "selinux", State: is}, nil
}
