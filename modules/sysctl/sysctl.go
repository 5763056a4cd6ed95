package sysctl

import (
	"cmp"
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Sysctl is a setting of the kernel. It is written to a file that is read at boot, and to /proc/sys; neither needs a
// program.
type Sysctl struct {
	Name    string `json:"name" text:"argument" required:"true" doc:"the setting, such as net.ipv4.ip_forward; with slashes where a part has a dot: net/ipv4/conf/eth0.1/forwarding"`
	Ensure  string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: it is not in the file; the current value stays"`
	Value   string `json:"value,omitempty" doc:"its value; required for present; several numbers with a blank between them"`
	Runtime *bool  `json:"runtime,omitempty" doc:"false: the current value stays; default: true"`
	Persist *bool  `json:"persist,omitempty" doc:"false: nothing is written for the next boot; default: true"`
	Path    string `json:"path,omitempty" also:"sysctl_file" looks:"^/" doc:"absolute path of the file; default: /etc/sysctl.d/90-ccm-push.conf"`
	// Restore is set if the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`
}

const (
	present = "present"
	absent  = "absent"

	settings    = "/proc/sys"
	defaultPath = "/etc/sysctl.d/90-ccm-push.conf"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "sysctl",
		Doc: "Keeps a kernel setting: its current value, and the value that a file sets at boot. " +
			"Other lines of the file stay unchanged.",
		New: func() modules.Resource { return new(Sysctl) },
	}
}

// Requires implements [modules.Requirer].
func (s *Sysctl) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (s *Sysctl) Validate() error {
	errs := []error{modules.ValidatePath("path", s.Path), modules.ValidateLine("value", s.Value)}
	key := s.key()
	if s.Name != "" && (strings.ContainsAny(s.Name, " \t\n=#;\x00") || strings.HasPrefix(key, "/") || strings.Contains("/"+key+"/", "//") || strings.Contains("/"+key+"/", "/../")) {
		errs = append(errs, &modules.PropertyError{Path: "name", Msg: "this names no setting", Hint: "write a name such as net.ipv4.ip_forward"})
	}
	switch {
	case s.Ensure != absent && strings.TrimSpace(s.Value) == "" && s.Restore == nil:
		errs = append(errs, modules.Errorf("value", `"value" cannot be empty`))
	case !s.persists() && !s.sets() && s.Restore == nil:
		errs = append(errs, modules.Errorf("persist", "'runtime: false' and 'persist: false' together change nothing"))
	}
	return errors.Join(errs...)
}

// key is the setting as a path below /proc/sys.
func (s *Sysctl) key() string { return keyOf(s.Name) }

// keyOf is the path below /proc/sys for a name in a file: the first dot or slash in it is the separator (sysctl.d(5)).
func keyOf(name string) string {
	if at := strings.IndexAny(name, "./"); at >= 0 && name[at] == '.' {
		return strings.Map(func(r rune) rune {
			switch r {
			case '.':
				return '/'
			case '/':
				return '.'
			}
			return r
		}, name)
	}
	return name
}

func (s *Sysctl) sets() bool {
	return (s.Runtime == nil || *s.Runtime) && s.Ensure != absent
}

func (s *Sysctl) persists() bool { return s.Persist == nil || *s.Persist }

// value is a value in normal form: the kernel prints a tab between numbers, which is equal to a blank.
func value(text string) string { return strings.Join(strings.Fields(text), " ") }

// at is the kernel's file of the setting.
func (s *Sysctl) at() string { return settings + "/" + s.key() }

// edited is the file, with its edit.
func (s *Sysctl) edited() *edit.File {
	return &edit.File{
		Path: cmp.Or(s.Path, defaultPath), Edit: s.edit, Restore: s.Restore,
		Optional: s.Ensure == absent, Create: true, Mode: "0644",
	}
}

// edit changes a text to the desired one: the setting has one line, in its first place.
func (s *Sysctl) edit(t *edit.Text) (edit.Done, error) {
	have, want, line := absent, absent, ""
	if s.Ensure != absent {
		want = value(s.Value)
		line = s.Name + " = " + want
	}
	changed := t.KeepLine(line, func(text string) (string, bool) {
		key, is, ok := parse(text)
		switch {
		case !ok || key != s.key():
			return "", false
		case is != want:
			text = optional(text) + line
		}
		have = is // the last one counts
		return text, true
	})
	if !changed {
		return edit.Done{}, nil
	}
	return edit.Done{Action: "persisted", Changes: []modules.Change{{Property: "persisted", Have: have, Want: want}}}, nil
}

// optional returns the "-" before a setting that the kernel may refuse at boot.
func optional(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "-") {
		return "-"
	}
	return ""
}

// parse reads a line of a file (sysctl.conf(5)).
func parse(line string) (key, is string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", "", false
	}
	name, text, ok := strings.Cut(strings.TrimPrefix(line, "-"), "=")
	return keyOf(strings.TrimSpace(name)), value(text), ok
}
