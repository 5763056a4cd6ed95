package service

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// state has the fields with which CCM's service type describes a unit.
type state struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Enabled  bool   `json:"enabled"`
	Running  bool   `json:"running"`
}

// Describe implements [modules.Describer]. A service that does not run counts as stopped.
func (s *Service) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	f, err := s.find(ctx, h)
	if err != nil {
		return modules.Description{}, err
	}
	d := modules.Description{Ensure: stopped, Provider: systemD}
	if _, ok := f.m.(openrc); ok {
		d.Provider = openRC
	}
	if f.u.runs() {
		d.Ensure = running
	}
	d.State = state{Name: s.Name, Provider: d.Provider, Enabled: f.u.enabled(), Running: f.u.runs()}
	return d, nil
}
