package kmod

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser].
func (k *Kmod) Subject() string { return "kmod " + kernelName(k.Name) }

// Reversal implements [modules.Reverser]: whether the module is loaded, and the current files.
func (k *Kmod) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	is, err := k.now(h)
	if err != nil {
		return nil, err
	}
	ensure := absent
	if is.loaded {
		ensure = present
	}
	var earlier map[string]*edit.Restore
	if before, ok := kept.(*Kmod); ok {
		ensure, earlier = before.Ensure, before.Restore
	}
	restore, err := k.files().Reversal(h, earlier)
	if err != nil {
		return nil, err
	}
	return map[string]any{"ensure": ensure, "restore": restore}, nil
}

// Watch implements [modules.Watcher]: no event is sent when a module is loaded.
func (k *Kmod) Watch(context.Context, modules.Host) (modules.Sources, error) {
	sources := modules.Sources{Paths: k.files().Paths(), Polled: "whether the module is loaded"}
	sources.AddProgram("modprobe")
	return sources, nil
}

type state struct {
	Name    string   `json:"name"`
	BuiltIn bool     `json:"built_in,omitempty"`
	Lines   []string `json:"lines,omitempty"` // lines of both files
}

// Describe implements [modules.Describer].
func (k *Kmod) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "linux"}
	now, err := k.now(h)
	if err != nil {
		return d, err
	}
	if now.loaded {
		d.Ensure = present
	}
	is := state{Name: k.Name, BuiltIn: now.builtIn}
	for _, f := range k.files() {
		text, _, err := f.Read(h.Files)
		if err != nil {
			return d, err
		}
		for _, line := range edit.Parse(text).Lines {
			if k.loads(line.Text) || k.configures(line.Text) {
				is.Lines = append(is.Lines, strings.TrimSpace(line.Text))
			}
		}
	}
	d.State = is
	return d, nil
}
