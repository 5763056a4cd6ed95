package service

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Brought is a unit that a pending package brings.
type Brought struct {
	ID      string   // with its suffix
	File    string   // path of the unit file
	Text    string   // content of the unit file
	Enabled bool     // the package enables it
	Started bool     // and starts it
	DropIns []string // names of the drop-ins that systemd reads with it
	// Creates reports whether the package creates a file that it does not contain.
	Creates func(name string) bool
}

// names are the names of the unit: its own, and those by which it is enabled.
func (b Brought) names() []string {
	names := []string{b.ID}
	if b.Enabled {
		names = append(names, installs(b.Text)["Alias"]...)
	}
	return names
}

// Links returns the paths of the links that enabling the unit creates.
func (b Brought) Links() []string {
	if !b.Enabled {
		return nil
	}
	var links []string
	for key, names := range installs(b.Text) {
		for _, name := range names {
			switch folder := folders[key]; {
			case key == "Alias":
				links = append(links, path.Join(modules.UnitFolders[0], name))
			case folder != "":
				links = append(links, path.Join(modules.UnitFolders[0], name+folder, b.ID))
			}
		}
	}
	slices.Sort(links)
	return links
}

// Predictable reports whether the state of the unit after the installation is known: it is not a template, and neither
// conditions nor the end of its work prevent that it runs.
func (b Brought) Predictable(files modules.FileReader) bool {
	base, _ := splitSuffix(b.ID)
	install := installs(b.Text)
	if strings.Contains(base, "@") || len(install["Also"]) > 0 || strings.Contains(strings.Join(install["Alias"], " "), "%") {
		return false
	}
	if !b.Started {
		return true
	}
	oneshot, remains := false, false
	for line := range strings.Lines(b.Text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case key == "Type":
			oneshot = value == "oneshot"
		case key == "RemainAfterExit":
			remains = slices.Contains([]string{"yes", "true", "1", "on"}, value)
		case key == "ConditionPathExists" && !strings.ContainsAny(value, "*?[|%"):
			name, not := strings.CutPrefix(value, "!")
			there, err := exists(files, name)
			if err != nil || (there || b.Creates(name)) == not {
				return false
			}
		case strings.HasPrefix(key, "Condition"), strings.HasPrefix(key, "Assert"):
			return false
		}
	}
	return !oneshot || remains
}

// state is the unit after the installation.
func (b Brought) state() unit {
	u := unit{id: b.ID, names: b.names(), file: b.File, files: append([]string{b.File}, b.DropIns...), brought: true, state: "inactive", fileState: "static"}
	switch {
	case b.Enabled:
		u.fileState = "enabled"
	case len(installs(b.Text)) > 0:
		u.fileState = "disabled"
	}
	if b.Started {
		u.state, u.result = "active", "success"
	}
	for line := range strings.Lines(b.Text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key = strings.TrimSpace(key); {
		case key == "ExecReload":
			u.canReload = strings.TrimSpace(value) != ""
		case key == "Type" && strings.TrimSpace(value) == "notify-reload":
			u.canReload = true
		}
	}
	return u
}

// BroughtEffects are the effects of a plan that brings units.
func BroughtEffects(units []Brought) []modules.Effect {
	if len(units) == 0 {
		return nil
	}
	var names []string
	var effects []modules.Effect
	for _, b := range units {
		u := b.state()
		names = append(names, u.names...)
		for _, name := range u.names {
			effects = append(effects, modules.Effect{Kind: unitEffect, Key: name, State: u})
		}
	}
	return append(effects, modules.Effect{Kind: unitEffect, State: names})
}
