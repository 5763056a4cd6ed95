package seport

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Subject implements [modules.Reverser].
func (p *Seport) Subject() string {
	is, _ := p.port()
	return "seport " + is.String()
}

// Reversal implements [modules.Reverser]: the stored record of the port.
func (p *Seport) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	_, have, err := p.look(h)
	switch {
	case err != nil:
		return nil, err
	case have == record{}:
		return map[string]any{"ensure": absent}, nil
	}
	return map[string]any{"type": have.typ, "range": have.levels}, nil
}

// Watch implements [modules.Watcher].
func (p *Seport) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	return semanage.Watched(h.Files, store), nil
}

// Describe implements [modules.Describer].
func (p *Seport) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	_, have, err := p.look(h)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Type  string `json:"type,omitempty"`
		Range string `json:"range,omitempty"`
	}{have.typ, have.levels}
	ensure := present
	if have.typ == "" {
		ensure = absent
	}
	return modules.Description{Ensure: ensure, Provider: "selinux", State: is}, nil
}
