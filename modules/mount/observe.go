package mount

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// Subject implements [modules.Reverser].
func (m *Mount) Subject() string { return "mount " + m.Name }

// Reversal implements [modules.Reverser]: the current fstab, and whether something is mounted. A created directory is
// kept.
func (m *Mount) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	back := map[string]any{"ensure": unmounted}
	before, again := kept.(*Mount)
	var earlier *edit.Restore
	if again {
		earlier = before.Restore
	}
	is, err := m.now(h)
	switch {
	case err != nil:
		return nil, err
	case again && before.Ensure == mounted:
		is = live{there: true, device: before.Device, fstype: before.Fstype, options: before.Options}
	case again && before.Ensure == unmounted:
		is = live{}
	}
	if is.there {
		options := slices.DeleteFunc(slices.Clone(is.options), func(option string) bool {
			return is.fstype != "tmpfs" && !slices.Contains(flags, option)
		})
		slices.Sort(options)
		back["ensure"], back["device"], back["fstype"], back["options"] = mounted, is.device, is.fstype, slices.Compact(options)
	}
	if m.Ensure == present && m.Restore == nil { // present does not change the mount itself
		back = map[string]any{"ensure": present}
	}
	file, err := m.edited().Reversal(h, earlier)
	if err != nil || file == nil {
		return nil, err
	}
	back["fstab"], back["restore"] = m.edited().Path, file["restore"]
	return back, nil
}

// Watch implements [modules.Watcher].
func (m *Mount) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{m.edited().Path}, Mounts: true}, nil
}

type state struct {
	Name    string   `json:"name"`
	Device  string   `json:"device,omitempty"`
	Fstype  string   `json:"fstype,omitempty"`
	Options []string `json:"options,omitempty"`
	Fstab   string   `json:"fstab,omitempty"` // its line
}

// Describe implements [modules.Describer].
func (m *Mount) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "linux"}
	now, err := m.now(h)
	if err != nil {
		return d, err
	}
	text, _, err := m.edited().Read(h.Files)
	if err != nil {
		return d, err
	}
	is := state{Name: m.Name, Device: now.device, Fstype: now.fstype, Options: now.options}
	for _, line := range edit.Parse(text).Lines {
		if of := fstab.Fields(line.Text); of != nil && m.is(of) {
			d.Ensure, is.Fstab = present, line.Text
		}
	}
	if now.there {
		d.Ensure = mounted
	}
	d.State = is
	return d, nil
}
