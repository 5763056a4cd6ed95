package timezone

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser]: a host has one time zone.
func (z *Timezone) Subject() string { return "timezone" }

// Reversal implements [modules.Reverser]: the current target of the link, and the current file.
func (z *Timezone) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	target, at, err := z.leads(h.Files)
	switch {
	case err != nil:
		return nil, err
	case at.Kind != modules.Symlink && at.Kind != modules.Absent:
		return nil, modules.Refuse("/etc/localtime is not a link, so it could not be restored")
	}
	var earlier map[string]*edit.Restore
	if before, ok := kept.(*Timezone); ok {
		target, earlier = before.Target, before.Restore
	}
	restore, err := z.named().Reversal(h, earlier)
	if err != nil {
		return nil, err
	}
	return map[string]any{"restore": restore, "target": target}, nil
}

// Watch implements [modules.Watcher].
func (z *Timezone) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{"/etc/localtime", "/etc/timezone", database + "/" + z.zone()}}, nil
}

// Describe implements [modules.Describer].
func (z *Timezone) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	target, at, err := z.leads(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Zone string `json:"zone,omitempty"`
	}{zoneOf(target)}
	ensure := "present"
	if at.Kind == modules.Absent {
		ensure = absent
	}
	return modules.Description{Ensure: ensure, Provider: "linux", State: is}, nil
}
