package scaffold

import (
	"context"
	"path"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// state has the fields with which CCM's scaffold type describes a target: absolute paths of files.
type state struct {
	Name         string   `json:"name"`
	Provider     string   `json:"provider"`
	TargetExists bool     `json:"target_exists"`
	Changed      []string `json:"changed"` // still to be written, or for absent to be removed
	Purged       []string `json:"purged"`  // to be removed, because the source does not have them
	Stable       []string `json:"stable"`
}

const provider = "choria"

// Describe implements [modules.Describer].
func (s *Scaffold) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	plan, err := s.Check(ctx, h)
	if err != nil {
		return modules.Description{}, err
	}
	have := state{Name: s.Name, Provider: provider, Changed: []string{}, Purged: []string{}, Stable: []string{}}
	steps, _ := plan.Steps.([]step)
	for _, step := range steps {
		switch {
		case step.do == remove && step.node == nil:
			have.Purged = append(have.Purged, step.name)
		case step.node != nil && step.node.Kind() != modules.Directory:
			have.Changed = append(have.Changed, step.name)
		}
	}
	d := modules.Description{Ensure: absent, Provider: provider}
	if _, err := h.Files.Stat(s.Name); err == nil {
		d.Ensure, have.TargetExists = present, true
	} else if !modules.NotThere(err) {
		return modules.Description{}, err
	}
	for _, n := range s.Tree.Nodes {
		name := path.Join(s.Name, n.Path)
		if n.Kind() != modules.Directory && s.Ensure != absent && !slices.Contains(have.Changed, name) {
			have.Stable = append(have.Stable, name)
		}
	}
	d.State = have
	return d, nil
}
