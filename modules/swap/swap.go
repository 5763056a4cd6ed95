package swap

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// A Swap is a swap area, and its line of fstab. A file or device with other content is not overwritten.
type Swap struct {
	Name     string   `json:"name" required:"true" looks:"^/" doc:"absolute path of a file, or of a device below /dev"`
	Ensure   string   `json:"ensure,omitempty" enum:"active,present,absent" default:"active" doc:"active: it is swapped to, now and at boot; present: it is made, and in fstab, whether it is active or not; absent: neither, and the file is removed"`
	Size     string   `json:"size,omitempty" looks:"^[0-9]+[KMGT]?$" doc:"how large the file is: 512M, 2G (units of 1024), or bytes; required for a file"`
	Priority *int     `json:"priority,omitempty" doc:"which one is swapped to first: 0 to 32767; default: as the kernel chooses"`
	Options  []string `json:"options,omitempty" text:"argument" doc:"further options of swapon(8), such as nofail or discard"`
	Fstab    string   `json:"fstab,omitempty" looks:"^/" doc:"absolute path of the file; default: /etc/fstab"`
	// Restore is set if the resource undoes another one.
	Restore map[string]*edit.Restore `json:"restore,omitzero" wire:"only"`
}

// The values of ensure.
const (
	active  = "active"
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "swap",
		Doc: "Keeps a file or a device to swap to, now and at boot, or keeps it away. A file is created with its size, and created again if " +
			"the size changes. If a file or device has other content than a swap area, it is not changed and the resource fails.",
		New: func() modules.Resource { return new(Swap) },
	}
}

// Requires implements [modules.Requirer].
func (s *Swap) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

const (
	page     = 4096
	leastOf  = 10 * page // mkswap(8)
	greatest = 1 << 46   // bytes
)

var sizeShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,15})([KMGT]?)$`) })

// size returns the desired size of the file, in bytes, or 0 without one.
func (s *Swap) size() (int64, error) {
	if s.Size == "" {
		return 0, nil
	}
	wrong := &modules.PropertyError{Path: "size", Msg: fmt.Sprintf("%q is not a size", s.Size), Hint: "write a number followed by K, M, G or T, such as 512M or 2G: at least 40K, a multiple of 4K"}
	parts := sizeShape().FindStringSubmatch(s.Size)
	if parts == nil {
		return 0, wrong
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	shift := strings.Index("KMGT", parts[2])*10 + 10
	if parts[2] == "" {
		shift = 0
	}
	if err != nil || n > greatest>>shift || n<<shift < leastOf || n<<shift%page != 0 {
		return 0, wrong
	}
	return n << shift, nil
}

// Validate implements [modules.Resource].
func (s *Swap) Validate() error {
	_, err := s.size()
	errs := []error{modules.ValidatePath("name", s.Name), modules.ValidateLine("name", s.Name), modules.ValidatePath("fstab", s.Fstab), err}
	switch {
	case s.Name == "/":
		errs = append(errs, modules.Errorf("name", "this is a directory, and no file"))
	case s.device() && s.Size != "":
		errs = append(errs, modules.Errorf("size", "a device has the size that it has"))
	case s.Name != "" && !s.device() && s.Size == "" && s.Ensure != absent && s.Restore == nil:
		errs = append(errs, &modules.PropertyError{Path: "size", Msg: `"size" cannot be empty`, Hint: "write how large the file is, such as 2G"})
	}
	if s.Priority != nil && (*s.Priority < 0 || *s.Priority > 32767) {
		errs = append(errs, modules.Errorf("priority", `"priority" must be from 0 to 32767, not %d`, *s.Priority))
	}
	for n, option := range s.Options {
		if option == "" || strings.ContainsAny(option, ", \t\n\x00") || strings.HasPrefix(option, "pri=") {
			errs = append(errs, modules.Errorf("options["+strconv.Itoa(n)+"]", "%q is not one option", option))
		}
	}
	return errors.Join(errs...)
}

// device reports whether the name is a device, and not a file.
func (s *Swap) device() bool { return strings.HasPrefix(s.Name, "/dev/") }

// options are the options in the line of fstab.
func (s *Swap) options() []string {
	all := []string{"sw"}
	if s.Priority != nil {
		all = append(all, "pri="+strconv.Itoa(*s.Priority))
	}
	return append(all, s.Options...)
}

// files is fstab, with its edit.
func (s *Swap) files() edit.Files {
	file := &edit.File{
		Path: cmp.Or(s.Fstab, fstab.Path), Optional: s.Ensure == absent, Create: true, Mode: "0644",
		Edit: func(t *edit.Text) (edit.Done, error) {
			if s.Ensure == absent {
				return fstab.Keep(t, s.is, nil)
			}
			return fstab.Keep(t, s.is, []string{s.Name, "none", "swap", strings.Join(s.options(), ","), "0", "0"})
		},
	}
	return edit.Files{file}.Restoring(s.Restore)
}

// is reports whether a line of fstab belongs to the area.
func (s *Swap) is(fields []string) bool {
	return fields[fstab.Device] == s.Name && fields[fstab.Type] == "swap"
}
