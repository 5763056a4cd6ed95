package alternatives

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (a *Alternatives) Subject() string { return "alternatives " + a.Name }

// Reversal implements [modules.Reverser]: whether the program was an alternative, and which one was chosen.
func (a *Alternatives) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	have, err := a.look(h)
	if err != nil {
		return nil, err
	}
	is, known := have.find(a.Path)
	properties := map[string]any{"restore": Restore{Known: known, Priority: is.priority, Slaves: is.slaves, Manual: have.manual, Selected: have.selected}}
	if a.Path == "" {
		properties["ensure"] = auto
	} else {
		properties["path"] = a.Path
	}
	if have.link != "" && a.Path != "" {
		properties["link"] = have.link
	}
	return properties, nil
}

// Watch implements [modules.Watcher].
func (a *Alternatives) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	from := modules.Sources{Paths: []string{a.chosen()}}
	for _, dir := range databases {
		from.Paths = append(from.Paths, path.Join(dir, a.Name))
	}
	if a.Path != "" {
		from.Paths = append(from.Paths, a.Path)
	}
	if have, err := a.look(h); err == nil { // otherwise Check reports the error
		for _, c := range have.choices {
			from.Paths = append(from.Paths, c.path)
		}
	}
	return from, nil
}

// Describe implements [modules.Describer].
func (a *Alternatives) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	have, err := a.look(h)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Selected string   `json:"selected,omitempty"`
		Mode     string   `json:"mode,omitempty"`
		Link     string   `json:"link,omitempty"`
		Paths    []string `json:"paths,omitempty"`
	}{Selected: have.selected, Link: have.link}
	for _, c := range have.choices {
		is.Paths = append(is.Paths, c.path)
	}
	ensure := absent
	if len(have.choices) > 0 {
		ensure, is.Mode = present, auto
		if have.manual {
			is.Mode = "manual"
		}
	}
	return modules.Description{Ensure: ensure, Provider: "update-alternatives", State: is}, nil
}
