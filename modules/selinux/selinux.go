package selinux

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// A Selinux is the mode of SELinux: the kernel's mode at boot, from /etc/selinux/config, and its current mode, if it
// runs SELinux.
type Selinux struct {
	Name   string `json:"name" required:"true" doc:"enforcing, permissive or disabled; something else if mode has it"`
	Mode   string `json:"mode,omitempty" enum:"enforcing,permissive,disabled" doc:"the mode, where the resource is called otherwise; default: name. enforcing: actions that the policy does not allow are refused; permissive: they are only logged; disabled: SELinux is off from the next boot, and permissive until then"`
	Policy string `json:"policy,omitempty" text:"argument" looks:"^[A-Za-z0-9_-]+$" doc:"the policy from the next boot on, such as targeted, or default on Debian; default: unchanged"`
	// Restore is set if the resource undoes another one.
	Restore map[string]*edit.Restore `json:"restore,omitzero" wire:"only"`
	// Live, for a reversal, is the mode that the kernel had; empty if it had none.
	Live string `json:"live,omitempty" wire:"only"`
}

// The modes.
const (
	enforcing  = "enforcing"
	permissive = "permissive"
	disabled   = "disabled"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "selinux",
		Doc: "Keeps the mode of SELinux and its policy: now, where it runs, and at boot. It does not set up SELinux on a host: " +
			"that needs a policy package, a kernel parameter on Debian, and a reboot, which labels the files.",
		New: func() modules.Resource { return new(Selinux) },
	}
}

// Requires implements [modules.Requirer].
func (s *Selinux) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var policyShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

// Validate implements [modules.Resource].
func (s *Selinux) Validate() error {
	var errs []error
	switch s.mode() {
	case "", enforcing, permissive, disabled:
	default:
		errs = append(errs, &modules.PropertyError{Path: "name", Msg: fmt.Sprintf("%q is not a mode", s.Name), Hint: `write enforcing, permissive or disabled, or the property "mode"`})
	}
	if s.Policy != "" && !policyShape().MatchString(s.Policy) {
		errs = append(errs, modules.Errorf("policy", "%q is not a policy: write the name of a folder in /etc/selinux", s.Policy))
	}
	return errors.Join(errs...)
}

func (s *Selinux) mode() string { return cmp.Or(s.Mode, s.Name) }

// live is the desired current mode of a kernel.
func (s *Selinux) live() string {
	switch {
	case s.Restore != nil:
		return s.Live
	case s.mode() == disabled:
		return permissive
	}
	return s.mode()
}

// files are the files to edit.
func (s *Selinux) files() edit.Files {
	return edit.Files{{
		Path: semanage.Config, Optional: s.mode() == disabled && s.Policy == "" || s.Restore != nil, Edit: s.edit,
		Missing: "this host has no SELinux; install a policy, such as selinux-policy-targeted or selinux-policy-default",
	}}.Restoring(s.Restore)
}

// edit makes the text of /etc/selinux/config (selinux_config(5)). The last line of a setting counts.
func (s *Selinux) edit(t *edit.Text) (edit.Done, error) {
	var done edit.Done
	set := func(key, property, want string) {
		have, at := valueOf(t, key)
		if want == "" || have == want {
			return
		}
		if at < 0 {
			t.Insert(len(t.Lines), key+want)
		} else {
			t.Lines[at].Text = key + want
		}
		done.Action = "set it"
		done.Changes = append(done.Changes, modules.Change{Property: property, Have: edit.Shown(cmp.Or(have, "none")), Want: want})
	}
	set(modeKey, "mode at boot", s.mode())
	set(policyKey, "policy", s.Policy)
	return done, nil
}

const (
	modeKey   = "SELINUX="
	policyKey = "SELINUXTYPE="
)

// valueOf returns the value of a setting, and the index of its line; -1 means none.
func valueOf(t *edit.Text, key string) (string, int) {
	at := t.Last(func(line string) bool { return strings.HasPrefix(line, key) })
	if at < 0 {
		return "", at
	}
	return strings.TrimSpace(strings.TrimPrefix(t.Lines[at].Text, key)), at
}
