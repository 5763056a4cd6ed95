package kmod

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Kmod is a module of the kernel. Its lines are in files of our own below /etc/modules-load.d and /etc/modprobe.d. If
// another file contradicts them, the resource warns.
type Kmod struct {
	Name       string   `json:"name" required:"true" doc:"the module, such as br_netfilter"`
	Ensure     string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"present: it is loaded; absent: it is not loaded, and no line of the two files names it"`
	Persist    *bool    `json:"persist,omitempty" doc:"false: it is not loaded at boot; default: true"`
	Parameters []string `json:"parameters,omitempty" also:"params" doc:"its parameters, each as NAME=VALUE; they take effect when it is loaded, and a module that is already loaded keeps its parameters"`
	Blacklist  bool     `json:"blacklist,omitempty" doc:"with ensure absent: it is not loaded by itself when its device is found"`
	// Restore is set if the resource undoes another one.
	Restore map[string]*edit.Restore `json:"restore,omitzero" wire:"only"`
}

const (
	present = "present"
	absent  = "absent"

	loadFile  = "/etc/modules-load.d/ccm-push.conf"
	probeFile = "/etc/modprobe.d/ccm-push.conf"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "kmod",
		Doc: "Keeps a module of the kernel loaded, now and at boot, with its parameters, or keeps it away. " +
			"A module that is built into the kernel is there always.",
		New: func() modules.Resource { return new(Kmod) },
	}
}

// Requires implements [modules.Requirer].
func (k *Kmod) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var (
	nameShape  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`) })
	paramShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(=[^\s\x00-\x1f\x7f#"']*)?$`)
	})
)

// Validate implements [modules.Resource].
func (k *Kmod) Validate() error {
	var errs []error
	if k.Name != "" && !nameShape().MatchString(k.Name) {
		errs = append(errs, &modules.PropertyError{Path: "name", Msg: "this is not a valid module name", Hint: "write its name without a path and without .ko, such as br_netfilter"})
	}
	for n, p := range k.Parameters {
		if !paramShape().MatchString(p) {
			errs = append(errs, modules.Errorf("parameters["+strconv.Itoa(n)+"]", "%q is not a parameter such as nf_conntrack_max=65536", p))
		}
	}
	switch {
	case k.Ensure == absent && len(k.Parameters) > 0:
		errs = append(errs, modules.Errorf("parameters", "a module that is absent has no parameters"))
	case k.Ensure == absent && k.Persist != nil && *k.Persist:
		errs = append(errs, modules.Errorf("persist", "a module that is absent is not loaded at boot"))
	case k.Ensure != absent && k.Blacklist:
		errs = append(errs, modules.Errorf("blacklist", "'blacklist: true' is only valid with 'ensure: absent'"))
	}
	return errors.Join(errs...)
}

// kernelName is the kernel's name of a module: hyphens are underscores.
func kernelName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// files are the files to edit.
func (k *Kmod) files() edit.Files {
	load, probe := "", ""
	switch {
	case k.Ensure == absent && k.Blacklist:
		probe = "blacklist " + k.Name
	case k.Ensure != absent && (k.Persist == nil || *k.Persist):
		load = k.Name
	}
	if len(k.Parameters) > 0 {
		probe = "options " + k.Name + " " + strings.Join(k.Parameters, " ")
	}
	file := func(path, want string, change func(t *edit.Text) (edit.Done, error)) *edit.File {
		return &edit.File{Path: path, Create: true, Optional: want == "", Mode: "0644", Edit: change}
	}
	return edit.Files{
		file(loadFile, load, func(t *edit.Text) (edit.Done, error) { return keep(t, k.loads, load) }),
		file(probeFile, probe, func(t *edit.Text) (edit.Done, error) {
			*t = *edit.ParseLineFeed(t.String()) // see right
			return keep(t, k.configures, probe)
		}),
	}.Restoring(k.Restore)
}

// loads reports whether a line of /etc/modules-load.d loads the module (modules-load.d(5)).
func (k *Kmod) loads(line string) bool {
	return kernelName(strings.TrimSpace(line)) == kernelName(k.Name)
}

// configures reports whether a line of /etc/modprobe.d configures the module (modprobe.d(5)).
func (k *Kmod) configures(line string) bool {
	words := strings.Fields(line)
	return len(words) > 1 && (words[0] == "options" || words[0] == "blacklist") && kernelName(words[1]) == kernelName(k.Name)
}

// right reports whether a line is the wanted one. Blanks do not matter, and modprobe passes \r to the module.
func right(line, want string) bool {
	return strings.Join(strings.Fields(line), " ") == want && !strings.Contains(line, "\r")
}

// keep edits a text so that want is the only line for which is reports true; an empty want removes these lines.
func keep(t *edit.Text, is func(line string) bool, want string) (edit.Done, error) {
	var have []string
	changed := t.KeepLine(want, func(line string) (string, bool) {
		if !is(line) {
			return "", false
		}
		if have = append(have, strings.Join(strings.Fields(line), " ")); !right(line, want) {
			line = want
		}
		return line, true
	})
	if !changed {
		return edit.Done{}, nil
	}
	return edit.Done{Action: "persisted", Changes: []modules.Change{{Property: "persisted", Have: cmp.Or(strings.Join(have, "; "), absent), Want: cmp.Or(want, absent)}}}, nil
}
