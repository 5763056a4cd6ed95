package wait

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (w *Wait) Subject() string { return "wait " + w.Name }

// Reversal implements [modules.Reverser]. Waiting changes nothing, so its reversal does not wait.
func (w *Wait) Reversal(_ context.Context, _ modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	return map[string]any{"path": "/"}, nil
}

// Watch implements [modules.Watcher].
func (w *Wait) Watch(context.Context, modules.Host) (modules.Sources, error) {
	if w.Path != "" {
		return modules.Sources{Paths: []string{w.Path}}, nil
	}
	return modules.Sources{Polled: w.what()}, nil
}

type state struct {
	Name string `json:"name"`
	For  string `json:"for"`
	Why  string `json:"why,omitempty"` // reason why the condition is not met
}

// Describe implements [modules.Describer].
func (w *Wait) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	is := state{Name: w.Name, For: w.what()}
	once := *w
	once.Ensure = present
	why, err := once.look(ctx, h, maxLook)
	d := modules.Description{Ensure: present, Provider: "ccm-push"}
	if why != nil {
		d.Ensure, is.Why = absent, why.Error()
	}
	d.State = is
	return d, err
}
