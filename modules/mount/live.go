package mount

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// live holds the mounts at a path: the state of a [modules.MountEffect].
type live struct {
	there   bool
	device  string
	fstype  string
	options []string
	layers  int      // number of mounts at the path, one above the other; 0 means one, if the number is unknown
	below   []string // mount points in these mounts, which prevent unmounting
	shows   mountinfo.Place
	source  mountinfo.Place // place of the directory that a bind mount shows
}

// Mounted implements the state of a [modules.MountEffect].
func (l live) Mounted() bool { return l.there }

// now returns the mounts at the path, in a check run the predicted ones. The kernel lists a mount by the path without links.
func (m *Mount) now(h modules.Host) (live, error) {
	at := real(h.Files, m.Name)
	if state, predicted := h.Forecast.Lookup(modules.MountEffect, at); predicted {
		return state.(live), nil
	}
	file, err := h.Files.Open(mountinfo.File)
	if err != nil {
		return live{}, modules.Refuse("cannot read the mounted file systems of this system: %w", err)
	}
	defer file.Close()
	const most = 8 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return live{}, err
	}
	var is live
	layers := map[int]bool{} // ids of the mounts at the path
	all := mountinfo.NewTable(string(text))
	for _, one := range all {
		if one.Point == at { // the last one is seen
			layers[one.ID] = true
			is = live{there: true, device: one.Source, fstype: one.Type, options: one.Options, layers: len(layers)}
			is.shows = mountinfo.Place{Device: one.Device, Path: one.Root}
		}
	}
	if m.bind() && strings.HasPrefix(m.Device, "/") {
		is.source, _ = all.Of(real(h.Files, m.Device))
	}
	for _, one := range all {
		if !layers[one.Parent] || one.Point == at {
			continue
		}
		if state, planned := h.Forecast.Lookup(modules.MountEffect, one.Point); !planned || state.(live).there {
			is.below = append(is.below, one.Point)
		}
	}
	return is, nil
}

// real returns a path without links, or the path itself if it leads to nothing.
func real(files modules.FileReader, name string) string {
	if at, _, err := modules.Resolve(files, name); err == nil {
		return at
	}
	return name
}

// flags are the options that the kernel reports in the form in which they are written.
var flags = []string{"ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "sync", "dirsync"}

// opposites maps each restricting option to the option that turns it off.
var opposites = map[string]string{
	"nosuid": "suid", "nodev": "dev", "noexec": "exec", "noatime": "atime,relatime", "nodiratime": "diratime", "sync": "async",
}

// lacks returns the options that the mount does not have.
func (d *draft) lacks() []string {
	var all []string
	for _, option := range d.Options {
		if slices.Contains(flags, option) && !slices.Contains(d.is.options, option) || d.is.otherSize(option) {
			all = append(all, option)
		}
	}
	return all
}

// extra returns the unwanted options of the mount, and the options that turn them off. A bind
// mount has the options of its source, and FUSE adds its own.
func (d *draft) extra() (has, off []string) {
	if d.Restore == nil && (d.bind() || d.Fstype == "auto" || d.Fstype == "none" || strings.HasPrefix(d.is.fstype, "fuse")) {
		return nil, nil
	}
	wanted := slices.Clone(d.Options)
	for _, option := range d.Options { // mount(8): these imply others
		switch option {
		case "user", "users":
			wanted = append(wanted, "nosuid", "nodev", "noexec")
		case "owner", "group":
			wanted = append(wanted, "nosuid", "nodev")
		}
	}
	for _, option := range d.is.options {
		if opposite := opposites[option]; opposite != "" && !slices.Contains(wanted, option) && !slices.Contains(has, option) {
			has, off = append(has, option), append(off, opposite)
		}
	}
	if size, _ := value(d.is.options, "size"); d.Restore != nil && d.is.fstype == "tmpfs" && size != "" {
		if _, wants := value(d.Options, "size"); !wants && !isDefaultSize(d.host.Files, size) {
			has, off = append(has, "size="+size), append(off, defaultSize)
		}
	}
	return has, off
}

// defaultSize is the default size of a tmpfs(5).
const defaultSize = "size=50%"

// isDefaultSize reports whether a size is half of the memory, or that is not known.
func isDefaultSize(files modules.FileReader, size string) bool {
	file, err := files.Open("/proc/meminfo")
	if err != nil {
		return true
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 4<<10))
	_, rest, _ := strings.Cut(string(text), "MemTotal:")
	all := strings.Fields(rest)
	if len(all) == 0 {
		return true
	}
	total, _ := bytes(all[0] + "k")
	n, _ := bytes(size)
	const near = 1 << 20
	return n+near > total/2 && n < total/2+near
}

// value returns the last value of an option.
func value(options []string, name string) (text string, there bool) {
	for _, option := range options {
		if v, ok := strings.CutPrefix(option, name+"="); ok {
			text, there = v, true
		}
	}
	return text, there
}

// otherSize reports whether an option is the size of a file system in memory that has another one.
// Sizes that are not a number of bytes, such as a percentage, are not compared.
func (l live) otherSize(option string) bool {
	want, sized := strings.CutPrefix(option, "size=")
	if !sized || l.fstype != "tmpfs" {
		return false
	}
	have, _ := value(l.options, "size")
	wanted, known := bytes(want)
	has, _ := bytes(have)
	return known && wanted > 0 && wanted != has
}

// pageSize is the unit to which the kernel rounds sizes up. Larger pages are multiples of it.
const pageSize = 4096

// bytes reads a size as tmpfs(5) has it.
func bytes(text string) (n uint64, ok bool) {
	shift := 0
	if text != "" {
		if i := strings.IndexByte("kmgt", text[len(text)-1]|0x20); i >= 0 {
			text, shift = text[:len(text)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	n <<= shift
	return (n + pageSize - 1) / pageSize * pageSize, err == nil
}

// unseen returns the options that may be missing from the mount: the kernel does not report them.
func (d *draft) unseen() []string {
	var all []string
	for option := range strings.SplitSeq(d.given(), ",") {
		sized := d.is.fstype == "tmpfs" && strings.HasPrefix(option, "size=")
		known := slices.Contains([]string{"defaults", "bind", "rbind", "suid", "dev", "exec", "async", "atime"}, option)
		if !sized && !known && !slices.Contains(flags, option) && !slices.Contains(d.is.options, option) {
			all = append(all, option)
		}
	}
	return all
}

// bind reports whether a directory is mounted in another place.
func (m *Mount) bind() bool {
	return slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind")
}

// other reports whether something else is mounted there. For labels and remote file systems it compares
// the type only.
func (d *draft) other() bool {
	switch {
	case d.bind():
		return d.is.source.Device != "" && d.is.source != d.is.shows
	case d.Fstype == "auto" || d.Fstype == "none":
		return false
	case d.is.fstype != d.Fstype && !strings.HasPrefix(d.is.fstype, d.Fstype) && !strings.HasPrefix(d.is.fstype, "fuse"):
		return true
	case !strings.HasPrefix(d.Device, "/dev/") || !strings.HasPrefix(d.is.device, "/dev/") || d.Device == d.is.device:
		return false
	}
	at, _, err := modules.Resolve(d.host.Files, d.Device)
	was, _, wrong := modules.Resolve(d.host.Files, d.is.device)
	return err == nil && wrong == nil && at != was
}

// given returns the options for mount(8), without the options that only other programs read.
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
