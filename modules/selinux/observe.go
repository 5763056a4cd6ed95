package selinux

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Subject implements [modules.Reverser]: a host has one mode.
func (s *Selinux) Subject() string { return "selinux" }

// Reversal implements [modules.Reverser]: the kernel's current mode, and the current file.
func (s *Selinux) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	now, err := s.now(h)
	if err != nil {
		return nil, err
	}
	var earlier map[string]*edit.Restore
	if before, ok := kept.(*Selinux); ok {
		now, earlier = before.Live, before.Restore
	}
	restore, err := s.files().Reversal(h, earlier)
	if err != nil {
		return nil, err
	}
	return map[string]any{"mode": s.mode(), "live": now, "restore": restore}, nil
}

// Watch implements [modules.Watcher]: the kernel sends no event when its mode changes.
func (s *Selinux) Watch(context.Context, modules.Host) (modules.Sources, error) {
	sources := modules.Sources{Paths: append(s.files().Paths(), enforce), Polled: "the mode that the kernel has now"}
	if s.Policy != "" {
		sources.Paths = append(sources.Paths, "/etc/selinux/"+s.Policy+"/policy")
	}
	return sources, nil
}

// Describe implements [modules.Describer].
func (s *Selinux) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	now, err := s.now(h)
	if err != nil {
		return modules.Description{}, err
	}
	text, at, err := (&edit.File{Path: semanage.Config}).Read(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	t := edit.Parse(text)
	is := struct {
		Mode   string `json:"mode"` // now
		Boot   string `json:"boot,omitempty"`
		Policy string `json:"policy,omitempty"`
	}{Mode: now}
	is.Boot, _ = valueOf(t, modeKey)
	is.Policy, _ = valueOf(t, policyKey)
	ensure := "present"
	if now == "" {
		is.Mode = disabled
	}
	if at.Kind == modules.Absent {
		ensure = "absent"
	}
	return modules.Description{Ensure: ensure, Provider: "linux", State: is}, nil
}
