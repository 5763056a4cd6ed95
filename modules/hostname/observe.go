package hostname

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser]: a host has one name.
func (n *Hostname) Subject() string { return "hostname" }

// Reversal implements [modules.Reverser]: the kernel's current name, and the current files.
func (n *Hostname) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	now, err := n.now(h)
	if err != nil {
		return nil, err
	}
	var earlier map[string]*edit.Restore
	if before, ok := kept.(*Hostname); ok {
		now, earlier = before.Static, before.Restore
	}
	restore, err := n.files().Reversal(h, earlier)
	if err != nil {
		return nil, err
	}
	return map[string]any{"static": now, "restore": restore}, nil
}

// Watch implements [modules.Watcher]: the kernel sends no event when its name changes.
func (n *Hostname) Watch(context.Context, modules.Host) (modules.Sources, error) {
	sources := modules.Sources{Paths: n.files().Paths(), Polled: "the name that the host has now"}
	sources.AddProgram("hostname")
	return sources, nil
}

type state struct {
	Name   string `json:"name"`             // now
	Static string `json:"static,omitempty"` // at boot
	Pretty string `json:"pretty,omitempty"`
}

// Describe implements [modules.Describer].
func (n *Hostname) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	now, err := n.now(h)
	if err != nil {
		return modules.Description{}, err
	}
	is := state{Name: now}
	for path, read := range map[string]func(line string){
		"/etc/hostname": func(line string) {
			if is.Static == "" && line != "" && line[0] != '#' {
				is.Static = line
			}
		},
		"/etc/machine-info": func(line string) {
			if value, ok := strings.CutPrefix(line, prettyKey); ok {
				is.Pretty = unquote(value)
			}
		},
	} {
		file := edit.File{Path: path}
		text, _, err := file.Read(h.Files)
		if err != nil {
			return modules.Description{}, err
		}
		for _, line := range edit.Parse(text).Lines {
			read(strings.TrimSpace(line.Text))
		}
	}
	return modules.Description{Ensure: "present", Provider: "linux", State: is}, nil
}
