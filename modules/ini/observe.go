package ini

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser]: the option, or the section, as a part of the file.
func (i *Ini) Subject() string {
	return i.edited().Path + "\n[" + i.Section + "] " + i.Option
}

// Reversal implements [modules.Reverser].
func (i *Ini) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var earlier *edit.Restore
	if k, ok := kept.(*Ini); ok {
		earlier = k.Restore
	}
	return i.edited().Reversal(h, earlier)
}

// Watch implements [modules.Watcher].
func (i *Ini) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{i.edited().Path}}, nil
}

type state struct {
	Name    string   `json:"name"`
	Path    string   `json:"path"`
	Section string   `json:"section,omitempty"`
	Option  string   `json:"option,omitempty"`
	Values  []string `json:"values,omitempty"`
}

// Describe implements [modules.Describer].
func (i *Ini) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "posix"}
	text, at, err := i.edited().Read(h.Files)
	if err != nil {
		return d, err
	}
	t := edit.Parse(text)
	is := state{Name: i.Name, Path: i.edited().Path, Section: i.Section, Option: i.Option}
	in := sections(t, i.Section)
	if at.Kind != modules.Absent && i.Option == "" && len(in) > 0 {
		d.Ensure = present
	}
	for _, o := range options(t, in, i.Option) {
		if i.Option != "" {
			d.Ensure, is.Values = present, append(is.Values, o.value)
		}
	}
	d.State = is
	return d, nil
}
