// Package merged knows the folders whose files a host merges by rules of precedence, and which of them it reads.
package merged

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// endings are the ends of the names that count, by folder below [modules.MergeRoots]. A folder without endings has files of any name.
var endings = map[string][]string{
	"sysctl.d": {".conf"}, "modprobe.d": {".conf"}, "modules-load.d": {".conf"}, "tmpfiles.d": {".conf"}, "sysusers.d": {".conf"},
	"binfmt.d": {".conf"}, "environment.d": {".conf"}, "udev/rules.d": {".rules"}, "systemd/network": {".network", ".netdev", ".link"},
	"systemd/system": nil,
}

// inEtc are the ends for folders below /etc only. An empty end means a name without a dot.
var inEtc = map[string][]string{
	"apt/sources.list.d": {".list", ".sources"}, "apt/preferences.d": {"", ".pref"}, "apt/apt.conf.d": {"", ".conf"},
	"yum.repos.d": {".repo"}, "ld.so.conf.d": {".conf"}, "security/limits.d": {".conf"},
}

// debianNames are folders of which cron and run-parts of Debian read names of letters, digits, _ and - only (cron(8), run-parts(8)).
var debianNames = []string{"cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly"}

// Unread returns a warning if the host does not read the file at a path, because of its name or because a file with the same
// name overrides it; else "".
func Unread(files modules.FileReader, at string) string {
	dir, name := path.Split(path.Clean(at))
	dir = path.Clean(dir)
	if strings.HasPrefix(name, "README") || strings.HasSuffix(name, ".disabled") {
		return ""
	}
	for i, root := range modules.MergeRoots {
		prefix, folder, is := cut(dir, root)
		if !is {
			continue
		}
		ends, merges := endingsOf(folder)
		if merges && !hasEnd(name, ends) {
			return misnamed(at, dir, ends)
		}
		if merges {
			return overridden(files, at, prefix, folder, modules.MergeRoots[:i])
		}
		if root != "/etc" {
			return ""
		}
		if ends, is := inEtc[folder]; is && !hasEnd(name, ends) {
			return misnamed(at, dir, ends)
		}
		odd := func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
		}
		if _, err := files.Stat(prefix + "/usr/bin/dpkg"); slices.Contains(debianNames, folder) && strings.ContainsFunc(name, odd) && err == nil {
			return fmt.Sprintf("cron does not read %s: in %s it reads only names of letters, digits, '_' and '-'", at, dir)
		}
		return ""
	}
	return ""
}

// cut finds the folder below a root. The prefix before the root is empty, or the folder of another system.
func cut(dir, root string) (prefix, folder string, ok bool) {
	at := strings.LastIndex(dir, root+"/")
	if at < 0 {
		return "", "", false
	}
	return dir[:at], dir[at+len(root)+1:], true
}

// endingsOf returns the ends of names for a folder below the roots, and whether its files are merged.
func endingsOf(folder string) (ends []string, merges bool) {
	parent, base := path.Split(folder)
	dropIns := parent == "systemd/system/" && strings.HasSuffix(base, ".d") || parent == "systemd/" && strings.HasSuffix(base, ".conf.d")
	if dropIns {
		return []string{".conf"}, true
	}
	ends, merges = endings[folder]
	return ends, merges
}

func hasEnd(name string, ends []string) bool {
	return len(ends) == 0 || slices.ContainsFunc(ends, func(end string) bool {
		return end == "" && !strings.Contains(name, ".") || end != "" && strings.HasSuffix(name, end)
	})
}

func misnamed(at, dir string, ends []string) string {
	last := len(ends) - 1
	rule := "end with " + ends[last]
	switch before := strings.Join(ends[:last], ", "); {
	case before != "":
		rule = "end with " + before + " or " + ends[last]
	case last > 0:
		rule = "have no dot, or " + rule
	}
	return fmt.Sprintf("no program reads %s: names in %s %s", at, dir, rule)
}

// overridden returns a warning if one of the roots has a file with the same name.
func overridden(files modules.FileReader, at, prefix, folder string, higher []string) string {
	for _, root := range higher {
		other := path.Join(prefix+root, folder, path.Base(at))
		info, err := files.Stat(other)
		switch {
		case err != nil:
		case info.Kind == modules.Symlink && (info.Target == at || path.Join(path.Dir(other), info.Target) == at):
		case sameFile(files, at, other):
		default:
			return fmt.Sprintf("a boot reads %s in place of %s, which has the same name", other, at)
		}
	}
	return ""
}

// sameFile reports whether two paths lead to one place, as /lib and /usr/lib do.
func sameFile(files modules.FileReader, one, other string) bool {
	a, _, errA := modules.Resolve(files, one)
	b, _, errB := modules.Resolve(files, other)
	return errA == nil && errB == nil && a == b
}
