package debconf

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (d *Debconf) Subject() string { return "debconf " + d.Name }

// Reversal implements [modules.Reverser]: the answer that there was, or no question.
func (d *Debconf) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	have, err := d.look(h)
	if err != nil {
		return nil, err
	}
	back := map[string]any{"package": d.Package, "lock_timeout": d.LockTimeout}
	switch {
	case !d.owns(have):
		back["ensure"] = absent
	case have.password && have.value == "":
		return nil, modules.Refuse("the question has no password yet, and debconf cannot restore that")
	case have.password:
		back["password"], back["seen"] = have.value, have.seen
	default:
		back["type"], back["value"], back["seen"] = "string", have.value, have.seen
		if d.Type != "" {
			back["type"] = d.Type
		}
	}
	return back, nil
}

// Watch implements [modules.Watcher].
func (d *Debconf) Watch(context.Context, modules.Host) (modules.Sources, error) {
	from := modules.Sources{Paths: []string{answers, passwords}}
	from.AddProgram("debconf-set-selections")
	return from, nil
}

// Describe implements [modules.Describer].
func (d *Debconf) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	have, err := d.look(h)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Owners []string `json:"owners,omitempty"`
		Value  string   `json:"value,omitempty"`
		Seen   bool     `json:"seen"`
	}{have.owners, have.value, have.seen}
	if have.password {
		is.Value = ""
	}
	ensure := absent
	if d.owns(have) {
		ensure = present
	}
	return modules.Description{Ensure: ensure, Provider: "debconf", State: is}, nil
}
