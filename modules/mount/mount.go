package mount

import (
	"cmp"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// A Mount is a file system at a path, and its line of fstab. It follows Ansible's mount, with intended exceptions:
//   - the directory is kept when a file system is absent;
//   - an unmounted one keeps its line, and a mount that differs from the line is not unmounted as a side effect.
type Mount struct {
	Name    string   `json:"name" required:"true" looks:"^/" doc:"absolute path at which it is mounted"`
	Ensure  string   `json:"ensure,omitempty" event:"no" enum:"mounted,unmounted,present,absent" default:"mounted" doc:"mounted: now and at boot; unmounted: not now, however many mounts are at the path; present: in fstab, whether it is mounted or not; absent: neither"`
	Device  string   `json:"device,omitempty" event:"no" doc:"the device to mount: /dev/sdb1, UUID=…, LABEL=…, server:/path, tmpfs; required for mounted and present"`
	Fstype  string   `json:"fstype,omitempty" event:"no" doc:"ext4, xfs, nfs, tmpfs, none for a bind mount; required for mounted and present"`
	Options []string `json:"options,omitempty" also:"opts" doc:"options of mount(8); default: defaults"`
	Dump    int      `json:"dump,omitempty" event:"no" doc:"whether dump(8) saves it: 0 or 1"`
	Pass    int      `json:"pass,omitempty" event:"no" also:"passno" doc:"when fsck(8) looks at it at boot: 0 never, 1 the root, 2 others"`
	Fstab   string   `json:"fstab,omitempty" event:"no" looks:"^/" doc:"absolute path of the file; default: /etc/fstab"`
	modules.Event
	// Restore is set if the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`
}

// The values of ensure.
const (
	mounted   = "mounted"
	unmounted = "unmounted"
	present   = "present"
	absent    = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "mount",
		Doc: "Keeps a file system mounted at a path, now and at boot, or unmounted. Other lines of fstab, " +
			"comments and their order stay unchanged. If a subscribed resource has changed, it remounts the file system.",
		New: func() modules.Resource { return new(Mount) },
	}
}

// Requires implements [modules.Requirer].
func (m *Mount) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// fstypeShape matches valid types: mount(8) builds the name of a helper program from the type.
var fstypeShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.,+-]*$`) })

// Validate implements [modules.Resource].
func (m *Mount) Validate() error {
	errs := []error{modules.ValidatePath("name", m.Name), modules.ValidatePath("fstab", m.Fstab)}
	if m.Name == "/" && (m.Ensure == unmounted || m.Ensure == absent) {
		errs = append(errs, modules.Errorf("name", "the root directory cannot be unmounted"))
	}
	errs = append(errs, modules.ValidateLine("name", m.Name), modules.ValidateArgument("device", m.Device))
	if m.Fstype != "" && !fstypeShape().MatchString(m.Fstype) {
		errs = append(errs, modules.Errorf("fstype", "%q is not the name of a file system, such as ext4", m.Fstype))
	}
	if m.Ensure != unmounted && m.Ensure != absent && m.Restore == nil && !m.RefreshOnly {
		for _, of := range []struct{ property, value string }{{"device", m.Device}, {"fstype", m.Fstype}} {
			if of.value == "" {
				errs = append(errs, modules.Errorf(of.property, "%q cannot be empty", of.property))
			}
		}
	}
	for n, option := range m.Options {
		if option == "" || strings.ContainsFunc(option, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f }) {
			errs = append(errs, modules.Errorf("options["+strconv.Itoa(n)+"]", "%q is not one option", option))
		}
	}
	if m.Dump < 0 || m.Dump > 1 {
		errs = append(errs, modules.Errorf("dump", `"dump" must be 0 or 1, not %d`, m.Dump))
	}
	if m.Pass < 0 || m.Pass > 9 {
		errs = append(errs, modules.Errorf("pass", `"pass" must be from 0 to 9, not %d`, m.Pass))
	}
	return errors.Join(errs...)
}

// options returns the options of the line.
func (m *Mount) options() string { return cmp.Or(strings.Join(m.Options, ","), "defaults") }

// fields returns the fields of the line of fstab.
func (m *Mount) fields() []string {
	return []string{m.Device, m.Name, m.Fstype, m.options(), strconv.Itoa(m.Dump), strconv.Itoa(m.Pass)}
}

// edited returns the file resource that edits fstab.
func (m *Mount) edited() *edit.File {
	return &edit.File{
		Path: cmp.Or(m.Fstab, fstab.Path), Edit: m.edit, Restore: m.Restore,
		Optional: m.Ensure == absent, Create: true, Mode: "0644",
	}
}

// edit makes fstab as the resource wants it.
func (m *Mount) edit(t *edit.Text) (edit.Done, error) {
	switch m.Ensure {
	case unmounted:
		return edit.Done{}, nil // its line does not change
	case absent:
		return fstab.Keep(t, m.is, nil)
	}
	return fstab.Keep(t, m.is, m.fields())
}

// is reports whether a line of fstab belongs to the path, in whatever form the line contains the path.
func (m *Mount) is(fields []string) bool { return path.Clean(fields[fstab.Point]) == m.Name }
