package sysctl

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser].
func (s *Sysctl) Subject() string { return "sysctl " + s.key() }

// Reversal implements [modules.Reverser]: the current value, and the current file.
func (s *Sysctl) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	back := map[string]any{"persist": false, "runtime": false}
	var earlier *edit.Restore
	before, again := kept.(*Sysctl)
	if again {
		earlier = before.Restore
	}
	if s.persists() {
		f := s.edited()
		file, err := f.Reversal(h, earlier)
		switch {
		case err != nil || file == nil:
			return nil, err
		}
		back["path"], back["restore"], back["persist"] = f.Path, file["restore"], true
	}
	if s.sets() && s.Value != "" {
		now, err := s.now(h)
		if err != nil {
			return nil, err
		}
		if again && before.Value != "" {
			now = before.Value
		}
		back["value"], back["runtime"] = now, true
	}
	return back, nil
}

// Watch implements [modules.Watcher]: the kernel sends no event when a value changes.
func (s *Sysctl) Watch(context.Context, modules.Host) (modules.Sources, error) {
	var sources modules.Sources
	if s.persists() {
		sources.Paths = []string{s.edited().Path}
	}
	if s.sets() {
		sources.Polled = "the value that holds now"
	}
	return sources, nil
}

type state struct {
	Name      string `json:"name"`
	Value     string `json:"value,omitempty"`
	Persisted string `json:"persisted,omitempty"`
	Path      string `json:"path"`
}

// Describe implements [modules.Describer].
func (s *Sysctl) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "linux"}
	is := state{Name: s.Name, Path: s.edited().Path}
	text, _, err := s.edited().Read(h.Files)
	if err != nil {
		return d, err
	}
	for _, line := range edit.Parse(text).Lines {
		if key, value, ok := parse(line.Text); ok && key == s.key() {
			d.Ensure, is.Persisted = present, value
		}
	}
	is.Value, err = s.now(h)
	if err != nil && s.sets() {
		return d, err
	}
	d.State = is
	return d, nil
}
