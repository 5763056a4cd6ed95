package service

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// quadlets is the folder of the files that podman turns into units when systemd reads its own (podman-systemd.unit(5)).
const quadlets = "/etc/containers/systemd"

// compareWithDisk finds changes that systemd has not noticed: NeedDaemonReload covers files that have changed since
// they were read, but not new ones.
func compareWithDisk(files modules.FileReader, u unit) (unit, error) {
	if u.missing {
		return appeared(files, u)
	}
	if u.masked() || u.stale {
		return u, nil
	}
	var err error
	if u.stale, err = overridden(files, u); err != nil || u.stale {
		return u, err
	}
	u.stale = hasNewDropIn(files, u)
	return u, nil
}

// appeared looks whether a unit that systemd does not know has a unit file by now.
func appeared(files modules.FileReader, u unit) (unit, error) {
	for _, file := range sources(u.id) {
		there, err := exists(files, file)
		if err != nil {
			return unit{}, err
		}
		if there {
			u.missing, u.stale, u.fileState, u.file = false, true, "disabled", file
			if path.Dir(file) == quadlets {
				u.fileState = "generated"
			}
			return u, nil
		}
	}
	return u, nil
}

// overridden reports whether another unit file takes precedence over the file that systemd has read.
func overridden(files modules.FileReader, u unit) (bool, error) {
	priority := slices.Index(modules.UnitFolders, path.Dir(u.file)) // -1: it was generated, or is somewhere else
	// The last two may be one folder.
	for _, dir := range modules.UnitFolders[:max(0, min(priority, len(modules.UnitFolders)-2))] {
		there, err := exists(files, path.Join(dir, path.Base(u.file)))
		if err != nil || there {
			return there, err
		}
	}
	return false, nil
}

// hasNewDropIn reports whether a drop-in exists that systemd has not read.
func hasNewDropIn(files modules.FileReader, u unit) bool {
	for _, name := range fileNames(u.id) {
		for _, dir := range modules.UnitFolders {
			dir = path.Join(dir, name+".d")
			names, _ := files.List(dir)
			for _, name := range names {
				if strings.HasSuffix(name, ".conf") && !u.hasRead(name) && !isEmpty(files, path.Join(dir, name)) {
					return true
				}
			}
		}
	}
	return false
}

// sinceBrought finds changes that systemd does not notice after the installation of a pending package.
func sinceBrought(h modules.Host, u unit) (unit, error) {
	u, err := compareWithDisk(h.Files, u)
	if err != nil || !u.stale {
		return u, err
	}
	h.Forecast.Lookup(modules.ProbeEffect, "")
	u.stale = !willRead(h, u)
	return u, nil
}

// hasRead reports whether a drop-in of that name has been read, whatever its folder.
func (u unit) hasRead(name string) bool {
	return slices.ContainsFunc(u.files, func(file string) bool { return path.Base(file) == name })
}

// isEmpty reports whether a file has no settings: it is empty or, as a link to /dev/null, hides others of its name.
func isEmpty(files modules.FileReader, name string) bool {
	info, err := modules.Follow(files, name)
	return err != nil || info.Kind != modules.Regular || info.Size == 0
}

// fileNames are the names that the unit file of a unit may have.
func fileNames(id string) []string {
	if name, ok := template(id); ok {
		return []string{id, name}
	}
	return []string{id}
}

// sources are the paths that may define a unit.
func sources(id string) []string {
	var list []string
	for _, name := range fileNames(id) {
		for _, dir := range modules.UnitFolders {
			list = append(list, path.Join(dir, name))
		}
	}
	if base, suffix := splitSuffix(id); suffix == ".service" {
		list = append(list, path.Join(initScripts, base), path.Join(quadlets, base+".container"))
	}
	return list
}

// willRead reports whether an earlier resource of a check run reloads the unit files in systemd after their last change.
func willRead(h modules.Host, u unit) bool {
	var names []string
	for _, name := range append(sources(u.id), u.files...) {
		names = append(names, name, name+".d")
	}
	_, ok := h.Forecast.Lookup(modules.RereadEffect, strings.Join(names, "\n"))
	return ok
}

// pending reports whether earlier resources of a check run will change the definition of a unit, or the links that
// enable it.
func pending(h modules.Host, u unit) (changes, removed bool) {
	changed := func(name string) bool {
		state, ok := h.Forecast.Lookup(modules.PathEffect, name)
		removed = removed || ok && state.(modules.PathState).Kind == modules.Absent
		return ok
	}
	below := func(dir string) bool {
		names, _ := h.Files.List(dir)
		return slices.ContainsFunc(names, func(name string) bool { return changed(path.Join(dir, name)) })
	}
	for _, name := range append(sources(u.id), u.files...) {
		if changed(name) || below(name+".d") {
			return true, removed
		}
	}
	for _, dir := range modules.UnitFolders[:2] {
		names, _ := h.Uncounted().Files.List(dir) // another new folder rarely enables this unit
		for _, name := range names {
			if (strings.HasSuffix(name, ".wants") || strings.HasSuffix(name, ".requires")) && changed(path.Join(dir, name, u.id)) {
				return true, removed
			}
		}
	}
	return false, false
}
