package repository

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A definition is a repository as one package manager has it.
type definition struct {
	*Repository
	provider string
}

// A setting is one of a definition. The names are compared without regard to case.
type setting struct{ name, value string }

// at returns the paths of the definition and the key; the name is a part of them.
func (d definition) at() (file, key string) {
	name := strings.ReplaceAll(d.Name, ":", "_")
	switch d.provider {
	case apt:
		file, key = "/etc/apt/sources.list.d/"+name+".sources", "/etc/apt/keyrings/"+name+".asc"
	case "zypper":
		file, key = "/etc/zypp/repos.d/"+name+".repo", "/etc/pki/rpm-gpg/"+name+".asc"
	default:
		file, key = "/etc/yum.repos.d/"+name+".repo", "/etc/pki/rpm-gpg/"+name+".asc"
	}
	return cmp.Or(d.Path, file), key
}

// pinned is the file of the priority of apt.
func (d definition) pinned() string {
	return "/etc/apt/preferences.d/" + strings.ReplaceAll(d.Name, ":", "_") + ".pref"
}

// keyRead is the path of the key that the manager reads; empty if this repository has no key of its own.
func (d definition) keyRead() string {
	_, key := d.at()
	switch {
	case d.hasKey():
		return key
	case path.IsAbs(d.SignedBy):
		return d.SignedBy
	}
	return ""
}

// hasKey reports whether the key is managed, too.
func (r *Repository) hasKey() bool { return !r.Key.IsZero() || r.remote() }

// settings are the settings of the definition.
func (d definition) settings() []setting {
	var all []setting
	add := func(name, value string) {
		if value != "" {
			all = append(all, setting{name, value})
		}
	}
	words := func(list []string) string { return strings.Join(list, " ") }
	key := d.keyRead()
	if d.provider == apt {
		add("Types", cmp.Or(words(d.Types), "deb"))
		add("URIs", words(d.URIs))
		add("Suites", words(d.Suites))
		add("Components", words(d.Components))
		add("Architectures", words(d.Architectures))
		add("Signed-By", key)
		if !d.checks() {
			add("Trusted", "yes")
		}
		if !d.enabled() {
			add("Enabled", "no")
		}
		add("X-Repolib-Name", d.Description)
	} else {
		bit := map[bool]string{true: "1", false: "0"}
		add("name", cmp.Or(d.Description, d.Name))
		add("baseurl", words(d.URIs))
		add("mirrorlist", d.Mirrorlist)
		add("metalink", d.Metalink)
		add("enabled", bit[d.enabled()])
		add("gpgcheck", bit[d.checks()])
		if key != "" {
			add("gpgkey", "file://"+key)
		}
		if d.Priority != 0 {
			add("priority", strconv.Itoa(d.Priority))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Options)) {
		add(name, d.Options[name])
	}
	return all
}

// lines are the lines of the definition.
func (d definition) lines() []string {
	if d.provider == apt {
		var lines []string
		for _, s := range d.settings() {
			lines = append(lines, s.name+": "+s.value)
		}
		return lines
	}
	lines := []string{"[" + d.Name + "]"}
	for _, s := range d.settings() {
		value := s.value
		if s.name == "baseurl" {
			value = strings.ReplaceAll(value, " ", "\n    ")
		}
		lines = append(lines, strings.Split(s.name+"="+value, "\n")...)
	}
	return lines
}

// stanza reads the lines of a definition.
func stanza(lines []edit.Line, separator string) []setting {
	var all []setting
	for _, line := range lines {
		text := line.Text
		name, value, ok := strings.Cut(text, separator)
		switch {
		case strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";") || strings.TrimSpace(text) == "":
		case strings.TrimLeft(text, " \t") != text && len(all) > 0: // continuation line
			last := &all[len(all)-1]
			last.value = strings.TrimSpace(last.value + " " + strings.Join(strings.Fields(text), " "))
		case ok:
			all = append(all, setting{strings.TrimSpace(name), strings.Join(strings.Fields(value), " ")})
		default:
			all = append(all, setting{text, ""})
		}
	}
	return all
}

// find returns the lines of the definition: a whole file of apt, or a section; -1 means not found.
func (d definition) find(t *edit.Text) (start, end int) {
	if d.provider == apt {
		if len(t.Lines) == 0 {
			return -1, -1
		}
		return 0, len(t.Lines)
	}
	start = slices.IndexFunc(t.Lines, func(line edit.Line) bool { return strings.TrimSpace(line.Text) == "["+d.Name+"]" })
	if start < 0 {
		return -1, -1
	}
	for end = start + 1; end < len(t.Lines); end++ {
		if strings.HasPrefix(strings.TrimSpace(t.Lines[end].Text), "[") {
			break
		}
	}
	for end > start+1 && strings.TrimSpace(t.Lines[end-1].Text) == "" { // empty lines that separate it from the next
		end--
	}
	return start, end
}

// found reads the definition in a text; whole means that it is one stanza.
func (d definition) found(t *edit.Text) (have []setting, whole bool) {
	start, end := d.find(t)
	if start < 0 {
		return nil, false
	}
	lines, separator := t.Lines[start:end], ":"
	if d.provider != apt {
		return stanza(lines[1:], "="), true
	}
	have = stanza(lines, separator)
	text := strings.TrimSpace((&edit.Text{Lines: lines}).String())
	return have, !strings.Contains(text, "\n\n") && !strings.Contains(text, "\r\n\r\n")
}

// define is the edit of the file with the definition.
func (d definition) define(t *edit.Text) (edit.Done, error) {
	start, end := d.find(t)
	have, whole := d.found(t)
	if d.Ensure == absent {
		if start < 0 {
			return edit.Done{}, nil
		}
		t.Replace(start, end)
		empty := !slices.ContainsFunc(t.Lines, func(line edit.Line) bool { return strings.TrimSpace(line.Text) != "" })
		if empty {
			t.Lines = nil
		}
		return edit.Done{Action: "removed the repository", Changes: edit.Ensured(present, absent), Remove: empty}, nil
	}
	want := d.settings()
	if start < 0 {
		lines := d.lines()
		if len(t.Lines) > 0 && strings.TrimSpace(t.Lines[len(t.Lines)-1].Text) != "" {
			lines = append([]string{""}, lines...)
		}
		t.Insert(len(t.Lines), lines...)
		return edit.Done{Action: "added the repository", Changes: edit.Ensured(absent, present)}, nil
	}
	changes := differences(have, want)
	if len(changes) == 0 && !whole {
		changes = []modules.Change{{Property: "definition", Have: "several", Want: "one"}}
	}
	if len(changes) == 0 {
		return edit.Done{}, nil
	}
	t.Replace(start, end, d.lines()...)
	return edit.Done{Action: "changed the repository", Changes: changes}, nil
}

// differences are the settings that differ from the desired ones.
func differences(have, want []setting) []modules.Change {
	var changes []modules.Change
	rest := map[string]string{}
	for _, s := range have {
		name := strings.ToLower(s.name)
		if before, twice := rest[name]; twice {
			s.value = before + " and " + s.value
		}
		rest[name] = s.value
	}
	for _, s := range want {
		name := strings.ToLower(s.name)
		is, there := rest[name]
		delete(rest, name)
		if want := strings.Join(strings.Fields(s.value), " "); !there || is != want {
			changes = append(changes, modules.Change{Property: s.name, Have: cmp.Or(edit.Shown(is), absent), Want: edit.Shown(want)})
		}
	}
	for _, s := range have {
		if is, there := rest[strings.ToLower(s.name)]; there {
			delete(rest, strings.ToLower(s.name))
			changes = append(changes, modules.Change{Property: s.name, Have: edit.Shown(is), Want: absent})
		}
	}
	return changes
}

// pin is the edit of the file with the priority for apt. A file of that name that is not ours stays.
func (d definition) pin(t *edit.Text) (edit.Done, error) {
	head := "# priority of the repository " + d.Name
	ours := len(t.Lines) > 0 && t.Lines[0].Text == head
	if d.Ensure == absent || d.Priority == 0 {
		if !ours {
			return edit.Done{}, nil
		}
		t.Lines = nil
		return edit.Done{Action: "removed its priority", Changes: []modules.Change{{Property: "priority", Have: present, Want: absent}}, Remove: true}, nil
	}
	var origins []string
	for _, uri := range d.URIs {
		host := ""
		if u, err := url.Parse(uri); err == nil {
			host = u.Hostname()
		}
		if !slices.Contains(origins, host) {
			origins = append(origins, host)
		}
	}
	lines := []string{head}
	for i, origin := range origins {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "Package: *", fmt.Sprintf("Pin: origin %q", origin), "Pin-Priority: "+strconv.Itoa(d.Priority))
	}
	have := make([]string, 0, len(t.Lines))
	for _, line := range t.Lines {
		have = append(have, line.Text)
	}
	if slices.Equal(have, lines) {
		return edit.Done{}, nil
	}
	is := absent
	if ours {
		for _, s := range stanza(t.Lines, ":") {
			if s.name == "Pin-Priority" {
				is = s.value
			}
		}
	}
	t.Replace(0, len(t.Lines), lines...)
	return edit.Done{Action: "set its priority", Changes: []modules.Change{{Property: "priority", Have: is, Want: strconv.Itoa(d.Priority)}}}, nil
}

// files are the files to edit: the definition, and for apt the priority.
func (d definition) files() []*edit.File {
	at, _ := d.at()
	gone := d.Ensure == absent
	define := &edit.File{Path: at, Edit: d.define, Optional: gone, Create: true, Mode: "0644"}
	pin := &edit.File{Path: d.pinned(), Edit: d.pin, Optional: gone || d.Priority == 0, Create: true, Mode: "0644"}
	if d.Restore != nil {
		define.Restore, pin.Restore = d.Restore.Definition, d.Restore.Pin
	}
	if d.provider == apt {
		return []*edit.File{pin, define}
	}
	return []*edit.File{define}
}
