package mount

import (
	"io"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// mountEffect is the kind of effect whose key is a path and whose state is a [live].
const mountEffect modules.EffectKind = "mount"

// live is what is mounted at a path.
type live struct {
	there   bool
	device  string
	fstype  string
	options []string
}

// now is what is mounted, in a check run what will be.
func (m *Mount) now(h modules.Host) (live, error) {
	if state, predicted := h.Forecast.Lookup(mountEffect, m.Name); predicted {
		return state.(live), nil
	}
	file, err := h.Files.Open(mountinfo.File)
	if err != nil {
		return live{}, modules.Refuse("what is mounted is not known on this system: %w", err)
	}
	defer file.Close()
	const most = 8 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return live{}, err
	}
	var is live
	for one := range mountinfo.Parse(string(text)) {
		if one.Point == m.Name { // the last one is seen
			is = live{true, one.Source, one.Type, one.Options}
		}
	}
	return is, nil
}

// flags are the options that the kernel tells as they are written.
var flags = []string{"ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "sync", "dirsync"}

// lacks are the options that are not as they shall be.
func (m *Mount) lacks(is live) []string {
	var all []string
	for _, option := range m.Options {
		if slices.Contains(flags, option) && !slices.Contains(is.options, option) {
			all = append(all, option)
		}
	}
	return all
}

// bind reports whether a directory is mounted in another place.
func (m *Mount) bind() bool {
	return slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind")
}

// other reports whether something else is mounted there. Of labels and remote file systems the type
// alone tells.
func (m *Mount) other(files modules.FileReader, is live) bool {
	switch {
	case m.bind() || m.Fstype == "auto" || m.Fstype == "none":
		return false
	case is.fstype != m.Fstype && !strings.HasPrefix(is.fstype, m.Fstype) && !strings.HasPrefix(is.fstype, "fuse"):
		return true
	case !strings.HasPrefix(m.Device, "/dev/") || !strings.HasPrefix(is.device, "/dev/") || m.Device == is.device:
		return false
	}
	at, _, err := modules.Resolve(files, m.Device)
	was, _, wrong := modules.Resolve(files, is.device)
	return err == nil && wrong == nil && at != was
}

// given are the options that mount(8) is given: without those that are for others to read.
func (m *Mount) given() string {
	given := slices.DeleteFunc(slices.Clone(m.Options), func(option string) bool {
		name, _, _ := strings.Cut(option, "=")
		return slices.Contains([]string{"auto", "noauto", "nofail", "_netdev", "user", "users", "nouser", "owner", "group", "comment"}, name) || strings.HasPrefix(name, "x-")
	})
	if len(given) == 0 {
		return "defaults"
	}
	return strings.Join(given, ",")
}
