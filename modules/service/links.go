package service

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// linkEffects returns the effects of enabling and disabling on links to unit files.
func (f *found) linkEffects(verbs []verb) []modules.Effect {
	l := links{files: f.h.Files.Knowing(unitEffect), seen: map[string]bool{}}
	enabled, disabled := slices.Contains(verbs, enable), slices.Contains(verbs, disable)
	switch _, systemd := f.m.(systemd); {
	case systemd && (enabled || disabled):
		l.dir = modules.UnitFolders[0]
		if disabled && f.u.fileState == "enabled-runtime" {
			l.dir = modules.UnitFolders[1]
		}
		l.install(f.u.id, f.u.file, enabled)
		if disabled {
			l.existing(f.u)
		}
		if enabled && f.u.fileState == "enabled-runtime" { // see Apply
			l.dir = modules.UnitFolders[1]
			l.existing(f.u)
		}
		l.systemV(f.u)
	case enabled:
		l.add(path.Join(runlevels, "default", f.u.id))
	case disabled:
		for _, level := range f.u.levels {
			l.add(path.Join(runlevels, level, f.u.id))
		}
	}
	effects := modules.Differ(unitEffect, l.paths...)
	for _, dir := range l.below {
		effects = append(effects, modules.Effect{Kind: modules.BelowEffect, Key: dir})
	}
	return effects
}

// links collects the paths that enabling or disabling a unit changes.
type links struct {
	files modules.FileReader
	dir   string // the folder that has the links
	seen  map[string]bool
	paths []string
	// below lists folders in which links change whose names are not known.
	below []string
}

func (l *links) add(name string) {
	if !slices.Contains(l.paths, name) {
		l.paths = append(l.paths, name)
	}
}

// addIn adds a link in a folder. systemd makes the folder for the first link, and may remove it with the last one.
func (l *links) addIn(dir, name string) {
	names, err := l.files.List(dir)
	if err != nil || len(names) == 0 || len(names) == 1 && names[0] == name {
		l.add(dir)
	}
	l.add(path.Join(dir, name))
}

// install adds the links for the section [Install] of a unit file. A unit file that cannot be read may define any link
// below the folder. The names that a specifier expands to are not known either.
func (l *links) install(id, file string, fresh bool) {
	if l.seen[id] {
		return
	}
	l.seen[id] = true
	text, err := readUnitFile(l.files, file)
	if err != nil {
		if file == "" || fresh {
			l.below = append(l.below, l.dir)
		}
		return
	}
	settings := installs(text)
	for key, names := range settings {
		for _, name := range names {
			switch {
			case key == "DefaultInstance" || key != "Alias" && key != "Also" && folders[key] == "":
			case strings.Contains(name, "%"):
				l.below = append(l.below, l.dir)
			case key == "Alias":
				l.add(path.Join(l.dir, name))
			case key == "Also":
				l.also(name, fresh)
			default: // WantedBy, RequiredBy, UpheldBy
				link := id
				if base, suffix := splitSuffix(id); strings.HasSuffix(base, "@") && len(settings["DefaultInstance"]) > 0 {
					link = base + settings["DefaultInstance"][0] + suffix
				}
				l.addIn(path.Join(l.dir, name+folders[key]), link)
			}
		}
	}
}

// folders are the suffixes of the folders of links, by the setting that creates links there (systemd.unit(5)).
var folders = map[string]string{"WantedBy": ".wants", "RequiredBy": ".requires", "UpheldBy": ".upholds"}

// also adds the links of another unit that is enabled together with this one.
func (l *links) also(name string, fresh bool) {
	for _, file := range sources(name) {
		if there, err := exists(l.files, file); err == nil && there {
			l.install(name, file, fresh)
			return
		}
	}
}

// existing adds the existing links to a unit: systemd removes them all.
func (l *links) existing(u unit) {
	names, err := l.files.List(l.dir)
	if err != nil {
		return
	}
	base, suffix := splitSuffix(u.id)
	leads := func(dir, name string) bool {
		if name == u.id || slices.Contains(u.names, name) || strings.HasSuffix(base, "@") && strings.HasPrefix(name, base) && strings.HasSuffix(name, suffix) {
			return true
		}
		info, err := l.files.Stat(path.Join(dir, name))
		return err == nil && info.Kind == modules.Symlink && u.file != "" && path.Base(info.Target) == path.Base(u.file)
	}
	for _, name := range names {
		at := path.Join(l.dir, name)
		info, err := l.files.Stat(at)
		switch {
		case err != nil:
		case info.Kind == modules.Symlink && leads(l.dir, name):
			l.add(at)
		case info.Kind == modules.Directory:
			inner, _ := l.files.List(at)
			for _, name := range inner {
				if leads(at, name) {
					l.addIn(at, name)
				}
			}
		}
	}
}

// systemV adds the folders of System V links: systemctl enables and disables a script of the same name together with
// the unit.
func (l *links) systemV(u unit) {
	base, suffix := splitSuffix(u.id)
	if there, err := exists(l.files, path.Join(initScripts, base)); suffix != ".service" || err != nil || !there {
		return
	}
	for _, level := range strings.Split("0123456S", "") {
		for _, dir := range []string{"/etc/rc" + level + ".d", "/etc/rc.d/rc" + level + ".d"} {
			if there, err := exists(l.files, dir); err == nil && there {
				l.below = append(l.below, dir)
			}
		}
	}
	l.add("/etc/init.d/.depend.start")
	l.add("/etc/init.d/.depend.stop")
	l.add("/etc/init.d/.depend.boot")
}

// maxUnitFile is how many bytes of a unit file are read.
const maxUnitFile = 256 << 10

func readUnitFile(files modules.FileReader, name string) (string, error) {
	file, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxUnitFile))
	return string(text), err
}

// installs returns the settings of [Install] in a unit file. An empty value resets a list (systemd.syntax(7)).
func installs(text string) map[string][]string {
	all, in := map[string][]string{}, false
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, set := strings.Cut(line, "=")
		switch key = strings.TrimSpace(key); {
		case strings.HasPrefix(line, "["):
			in = line == "[Install]"
		case !in || !set || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";"):
		case strings.TrimSpace(value) == "":
			delete(all, key)
		default:
			all[key] = append(all[key], strings.Fields(value)...)
		}
	}
	return all
}
