package reach

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Ways are the ways in which certain users reach one host.
type Ways struct {
	users  []string
	groups []string
	// own are places of these users: what their keys are read from, and their homes themselves.
	own []string
}

// New finds the ways by which users of a host, including the users of escalations, reach it. Unreadable files count as
// having their usual contents.
func New(files modules.FileReader, users ...string) *Ways {
	w := &Ways{groups: slices.Clone(groups)}
	passwd, group := read(files, "/etc/passwd"), read(files, "/etc/group")
	for _, user := range users {
		if user == "" || slices.Contains(w.users, user) {
			continue
		}
		w.users = append(w.users, user)
		home := "/home/" + user
		if user == "root" {
			home = "/root"
		}
		gid := ""
		for line := range strings.Lines(passwd) {
			if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == user {
				gid = f[3]
				if path.IsAbs(f[5]) && f[5] != "/" {
					home = path.Clean(f[5])
				}
			}
		}
		for line := range strings.Lines(group) {
			if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 4 && (f[2] == gid || slices.Contains(strings.Split(f[3], ","), user)) {
				w.groups = append(w.groups, f[0])
			}
		}
		w.own = append(w.own, home+"/.ssh")
		w.own = append(w.own, keyFiles(files, user, home)...)
	}
	return w
}

// maxRead bounds the read part of a file: 1 MiB.
const maxRead = 1 << 20

func read(files modules.FileReader, name string) string {
	f, err := files.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxRead))
	return string(text)
}

// keyFiles returns the files that the SSH server's configuration names for the keys of a user (sshd_config(5),
// AuthorizedKeysFile).
func keyFiles(files modules.FileReader, user, home string) (all []string) {
	const dropIns = "/etc/ssh/sshd_config.d"
	configs := []string{"/etc/ssh/sshd_config"}
	names, _ := files.List(dropIns) // there need not be any
	for _, name := range names {
		configs = append(configs, path.Join(dropIns, name))
	}
	for _, name := range configs {
		for line := range strings.Lines(read(files, name)) {
			words := strings.Fields(strings.Replace(line, "=", " ", 1))
			if len(words) < 2 || !strings.EqualFold(words[0], "AuthorizedKeysFile") {
				continue
			}
			for _, word := range words[1:] {
				file := strings.NewReplacer("%%", "%", "%h", home, "%u", user).Replace(strings.Trim(word, `"`))
				if !path.IsAbs(file) {
					file = path.Join(home, file)
				}
				all = append(all, path.Clean(file))
			}
		}
	}
	return all
}

// Touches names the way to the host that an effect of a plan may affect; "" means none. An effect that may change
// anything affects none: most actions have it.
func (w *Ways) Touches(e modules.Effect) string {
	switch e.Kind {
	case modules.PathEffect, modules.BelowEffect:
		return w.path(e.Key)
	case modules.UserEffect:
		if slices.Contains(w.users, e.Key) {
			return "the account of " + e.Key
		}
	case modules.GroupEffect:
		if slices.Contains(w.groups, e.Key) {
			return "the group " + e.Key
		}
	case "firewall":
		return "the firewall"
	case "unit":
		return unit(e.Key)
	case "package":
		for _, p := range packages {
			if name, _, _ := strings.Cut(e.Key, ":"); slices.ContainsFunc(p.names, func(of string) bool { return matches(of, name) }) {
				return p.what
			}
		}
	}
	return ""
}

// path names the way of a path. A directory above it counts, too: it may be replaced, or become inaccessible.
func (w *Ways) path(name string) string {
	for _, of := range places {
		for _, place := range of.paths {
			if below(name, place) {
				return of.what
			}
		}
	}
	for _, place := range w.own {
		if below(name, place) {
			return "the keys by which one logs in"
		}
	}
	for _, dir := range unitDirs {
		if in, ok := strings.CutPrefix(name, dir+"/"); ok {
			file, _, _ := strings.Cut(in, "/")
			return unit(strings.TrimSuffix(file, ".d"))
		}
	}
	return ""
}

// below reports whether a path is a place, or in it, or above it.
func below(name, place string) bool {
	if prefix, many := strings.CutSuffix(place, "*"); many {
		return strings.HasPrefix(name, prefix) || above(name, prefix)
	}
	return name == place || strings.HasPrefix(name, place+"/") || above(name, place)
}

func above(name, place string) bool { return name == "/" || strings.HasPrefix(place, name+"/") }

// unit names the way of a unit, whose name may lack its suffix.
func unit(name string) string {
	if name == "" {
		return ""
	}
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".service"), ".socket")
	base, _, _ = strings.Cut(base, "@")
	for _, u := range units {
		if slices.Contains(u.names, base) {
			return u.what
		}
	}
	return ""
}

func matches(pattern, name string) bool {
	if prefix, many := strings.CutSuffix(pattern, "*"); many {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}
