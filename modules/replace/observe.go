package replace

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser]: the matches of the expression, as a part of the file.
func (r *Replace) Subject() string { return r.edited().Path + "\nreplace " + r.Name + " " + r.Regexp }

// Reversal implements [modules.Reverser].
func (r *Replace) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var earlier *edit.Restore
	if k, ok := kept.(*Replace); ok {
		earlier = k.Restore
	}
	back, err := r.edited().Reversal(h, earlier)
	if back != nil {
		back["regexp"] = r.Regexp // a required property
	}
	return back, err
}

// Watch implements [modules.Watcher].
func (r *Replace) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{r.edited().Path}}, nil
}

type state struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Matches int    `json:"matches"` // number of matches to replace
}

// Describe implements [modules.Describer].
func (r *Replace) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: "absent", Provider: "posix"}
	text, at, err := r.edited().Read(h.Files)
	if err != nil {
		return d, err
	}
	_, changes, err := r.on(text)
	if at.Kind != modules.Absent {
		d.Ensure = "present"
	}
	d.State = state{r.Name, r.edited().Path, len(changes)}
	return d, err
}
