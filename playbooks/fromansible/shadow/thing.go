package shadow

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A thing is the subject of tasks and resources. Several packages of one task are one thing, because Ansible reports one result for them.
type thing struct{ kind, name string }

func (t thing) String() string { return t.kind + " " + strings.ReplaceAll(t.name, "\n", ", ") }

// A kindInfo is a kind of things, with the modules of Ansible and the resource types that are about it.
type kindInfo struct {
	name    string
	keys    []string // names of arguments; the first argument that is set names the thing
	modules []string
	types   []string
}

// kinds lists the kinds of things whose results can be compared.
var kinds = []kindInfo{
	{
		"path", []string{"path", "dest"},
		[]string{"copy", "template", "file", "lineinfile", "blockinfile", "replace", "ini_file", "get_url", "assemble"},
		[]string{"file", "line", "replace", "ini", "link"},
	},
	{"package", []string{"name", "pkg", "package"}, []string{"apt", "dnf", "yum", "package", "apk", "pacman", "zypper"}, []string{"package"}},
	{"service", []string{"name", "unit"}, []string{"service", "systemd", "systemd_service", "sysvinit"}, []string{"service"}},
	{"user", []string{"name"}, []string{"user"}, []string{"user"}},
	{"group", []string{"name"}, []string{"group"}, []string{"group"}},
	{"cron", []string{"name"}, []string{"cron"}, []string{"cron"}},
	{"sysctl", []string{"name"}, []string{"sysctl"}, []string{"sysctl"}},
	{"mount", []string{"path", "name"}, []string{"mount"}, []string{"mount"}},
	{"hostname", []string{"name"}, []string{"hostname"}, []string{"hostname"}},
	{"timezone", []string{"name"}, []string{"timezone"}, []string{"timezone"}},
}

// silent lists modules that change no host and that only Ansible has: they are not counted.
var silent = []string{"gather_facts", "setup", "debug", "set_fact", "meta", "include_tasks", "include_role", "include_vars", "import_tasks", "import_role", "fail", "pause"}

// kindOf returns the first kind for which is reports true; otherwise it returns the zero value.
func kindOf(is func(kindInfo) bool) kindInfo {
	if i := slices.IndexFunc(kinds, is); i >= 0 {
		return kinds[i]
	}
	return kindInfo{}
}

// things returns what a task is about: one name, or several packages.
func (t *Task) things() (kind string, names []string) {
	k := kindOf(func(one kindInfo) bool { return slices.Contains(one.modules, t.Module) })
	for _, key := range k.keys {
		for _, value := range t.Values[key] {
			for one := range strings.SplitSeq(fmt.Sprint(value), ",") {
				if one = plain(k.name, strings.TrimSpace(one)); one != "" && !slices.Contains(names, one) {
					names = append(names, one)
				}
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			return k.name, names
		}
	}
	return "", nil
}

// plain returns a name as both programs write it; "" means that it cannot be compared.
func plain(kind, name string) string {
	switch kind {
	case "path":
		name, _, _ = strings.Cut(name, " ") // the names of lines and options continue after the path
		name = strings.TrimSuffix(name, ":")
		if !path.IsAbs(name) {
			return ""
		}
		return path.Clean(name)
	case "package":
		name, _, _ = strings.Cut(name, "=")
		if strings.ContainsAny(name, "*/@") {
			return ""
		}
	case "service":
		return strings.TrimSuffix(name, ".service")
	}
	return name
}
