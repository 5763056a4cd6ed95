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

// A setting is one of a definition. The names are compared without regard to case.
type setting struct{ name, value string }

// at returns the paths of the definition and the key for a package manager; the name is a part of them.
func (r *Repository) at(provider string) (definition, key string) {
	file := strings.ReplaceAll(r.Name, ":", "_")
	switch provider {
	case apt:
		definition, key = "/etc/apt/sources.list.d/"+file+".sources", "/etc/apt/keyrings/"+file+".asc"
	case "zypper":
		definition, key = "/etc/zypp/repos.d/"+file+".repo", "/etc/pki/rpm-gpg/"+file+".asc"
	default:
		definition, key = "/etc/yum.repos.d/"+file+".repo", "/etc/pki/rpm-gpg/"+file+".asc"
	}
	return cmp.Or(r.Path, definition), key
}

// pinned is the file of the priority of apt.
func (r *Repository) pinned() string {
	return "/etc/apt/preferences.d/" + strings.ReplaceAll(r.Name, ":", "_") + ".pref"
}

// keyRead is the path of the key that the manager reads; empty if this repository has no key of its own.
func (r *Repository) keyRead(provider string) string {
	_, key := r.at(provider)
	switch {
	case r.hasKey():
		return key
	case path.IsAbs(r.SignedBy):
		return r.SignedBy
	}
	return ""
}

// hasKey reports whether the key is managed, too.
func (r *Repository) hasKey() bool { return !r.Key.IsZero() || r.remote() }

// settings are the settings of the definition for a package manager.
func (r *Repository) settings(provider string) []setting {
	var all []setting
	add := func(name, value string) {
		if value != "" {
			all = append(all, setting{name, value})
		}
	}
	words := func(list []string) string { return strings.Join(list, " ") }
	key := r.keyRead(provider)
	if provider == apt {
		add("Types", cmp.Or(words(r.Types), "deb"))
		add("URIs", words(r.URIs))
		add("Suites", words(r.Suites))
		add("Components", words(r.Components))
		add("Architectures", words(r.Architectures))
		add("Signed-By", key)
		if !r.checks() {
			add("Trusted", "yes")
		}
		if !r.enabled() {
			add("Enabled", "no")
		}
		add("X-Repolib-Name", r.Description)
	} else {
		bit := map[bool]string{true: "1", false: "0"}
		add("name", cmp.Or(r.Description, r.Name))
		add("baseurl", words(r.URIs))
		add("mirrorlist", r.Mirrorlist)
		add("metalink", r.Metalink)
		add("enabled", bit[r.enabled()])
		add("gpgcheck", bit[r.checks()])
		if key != "" {
			add("gpgkey", "file://"+key)
		}
		if r.Priority != 0 {
			add("priority", strconv.Itoa(r.Priority))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		add(name, r.Options[name])
	}
	return all
}

// lines are the lines of the definition.
func (r *Repository) lines(provider string) []string {
	if provider == apt {
		var lines []string
		for _, s := range r.settings(provider) {
			lines = append(lines, s.name+": "+s.value)
		}
		return lines
	}
	lines := []string{"[" + r.Name + "]"}
	for _, s := range r.settings(provider) {
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
func (r *Repository) find(t *edit.Text, provider string) (start, end int) {
	if provider == apt {
		if len(t.Lines) == 0 {
			return -1, -1
		}
		return 0, len(t.Lines)
	}
	start = slices.IndexFunc(t.Lines, func(line edit.Line) bool { return strings.TrimSpace(line.Text) == "["+r.Name+"]" })
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
func (r *Repository) found(t *edit.Text, provider string) (have []setting, whole bool) {
	start, end := r.find(t, provider)
	if start < 0 {
		return nil, false
	}
	lines, separator := t.Lines[start:end], ":"
	if provider != apt {
		return stanza(lines[1:], "="), true
	}
	have = stanza(lines, separator)
	text := strings.TrimSpace((&edit.Text{Lines: lines}).String())
	return have, !strings.Contains(text, "\n\n") && !strings.Contains(text, "\r\n\r\n")
}

// define is the edit of the file with the definition.
func (r *Repository) define(provider string) func(*edit.Text) (edit.Done, error) {
	return func(t *edit.Text) (edit.Done, error) {
		start, end := r.find(t, provider)
		have, whole := r.found(t, provider)
		if r.Ensure == absent {
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
		want := r.settings(provider)
		if start < 0 {
			lines := r.lines(provider)
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
		t.Replace(start, end, r.lines(provider)...)
		return edit.Done{Action: "changed the repository", Changes: changes}, nil
	}
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
func (r *Repository) pin(t *edit.Text) (edit.Done, error) {
	head := "# priority of the repository " + r.Name
	ours := len(t.Lines) > 0 && t.Lines[0].Text == head
	if r.Ensure == absent || r.Priority == 0 {
		if !ours {
			return edit.Done{}, nil
		}
		t.Lines = nil
		return edit.Done{Action: "removed its priority", Changes: []modules.Change{{Property: "priority", Have: present, Want: absent}}, Remove: true}, nil
	}
	var origins []string
	for _, uri := range r.URIs {
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
		lines = append(lines, "Package: *", fmt.Sprintf("Pin: origin %q", origin), "Pin-Priority: "+strconv.Itoa(r.Priority))
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
	return edit.Done{Action: "set its priority", Changes: []modules.Change{{Property: "priority", Have: is, Want: strconv.Itoa(r.Priority)}}}, nil
}

// files are the files to edit: the definition, and for apt the priority.
func (r *Repository) files(provider string) []*edit.File {
	at, _ := r.at(provider)
	gone := r.Ensure == absent
	definition := &edit.File{Path: at, Edit: r.define(provider), Optional: gone, Create: true, Mode: "0644"}
	pin := &edit.File{Path: r.pinned(), Edit: r.pin, Optional: gone || r.Priority == 0, Create: true, Mode: "0644"}
	if r.Restore != nil {
		definition.Restore, pin.Restore = r.Restore.Definition, r.Restore.Pin
	}
	if provider == apt {
		return []*edit.File{pin, definition}
	}
	return []*edit.File{definition}
}
