package link

import (
	"errors"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Link is a path and its desired symbolic link. The target is a text: it is stored as written and need not exist.
// Owner and mode of a link have no effect, so there are no properties for them.
type Link struct {
	Name   string `json:"name" required:"true" looks:"^/" doc:"absolute path of the link, without . or .. elements"`
	Ensure string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"present: the link exists; absent: it does not; anything else at the path is kept, with an error"`
	Target string `json:"target,omitempty" doc:"where the link leads, stored as it is written: a relative one starts at the directory of the link; nothing has to be there; required unless absent"`
	Force  bool   `json:"force,omitempty" doc:"replace a file or an empty directory that is at the path; without it that is an error"`
}

// The values of ensure.
const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "link",
		Doc: "Keeps a symbolic link, or keeps it away. A link that leads elsewhere is replaced in one " +
			"step; anything else at the path is replaced only with force, and never removed.",
		New: func() modules.Resource { return new(Link) },
	}
}

// maxTarget is the longest target in bytes that Linux stores (PATH_MAX less the
// NUL, symlink(7)).
const maxTarget = 4095

// Validate implements [modules.Resource].
func (l *Link) Validate() error {
	errs := []error{l.validateName(), l.validateTarget()}
	if l.Force && l.Ensure == absent {
		errs = append(errs, modules.Errorf("force", "'force: true' is only valid with 'ensure: present', got 'ensure: absent'"))
	}
	return errors.Join(errs...)
}

func (l *Link) validateName() error {
	if l.Name == "/" {
		return modules.Errorf("name", "the root directory cannot be a link")
	}
	return modules.ValidatePath("name", l.Name)
}

func (l *Link) validateTarget() error {
	switch {
	case l.Target == "" && l.Ensure != absent:
		return &modules.PropertyError{Path: "target", Msg: `"target" cannot be empty`, Hint: "write the path that the link points to, such as target: /opt/app/current"}
	case strings.ContainsRune(l.Target, 0):
		return modules.Errorf("target", `"target" must not contain a NUL byte`)
	case len(l.Target) > maxTarget:
		return modules.Errorf("target", `"target" has %d bytes, more than the %d that a link can hold`, len(l.Target), maxTarget)
	case l.Target != "" && l.itself():
		return modules.Errorf("target", `target %q leads back to the link itself`, l.Target)
	}
	return nil
}

// itself reports whether the link would lead to its own path or through it, which is a loop. The end of a target with
// .. elements depends on other links.
func (l *Link) itself() bool {
	target := l.Target
	if strings.Contains("/"+target+"/", "/../") {
		return false
	}
	if !path.IsAbs(target) {
		target = path.Dir(l.Name) + "/" + target
	}
	return strings.HasPrefix(path.Clean(target)+"/", l.Name+"/")
}
