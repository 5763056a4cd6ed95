package fstab

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// settings lists the settings of a unit that a line of fstab contains, too.
var settings = []string{"What", "Type", "Options", "Priority"}

// Overridden returns a warning if a boot with systemd does not follow the line of fstab for a path, since a unit file or a
// drop-in overrides it; "" if nothing does. suffix is mount or swap.
func Overridden(files modules.FileReader, at, suffix string) string {
	name := UnitName(at, suffix)
	for _, dir := range modules.UnitFolders[:2] { // these override the units that systemd generates from fstab
		file := path.Join(dir, name)
		info, err := files.Stat(file)
		switch {
		case err != nil:
		case info.Kind == modules.Symlink && info.Target == "/dev/null":
			return fmt.Sprintf("a boot ignores the line for %s in fstab, since %s masks the unit; systemctl unmask %s removes it", at, file, name)
		default:
			return fmt.Sprintf("a boot follows %s in place of the line for %s in fstab; remove the unit file", file, at)
		}
	}
	var dirs []string
	for _, dir := range modules.UnitFolders {
		dirs = append(dirs, path.Join(dir, name+".d"))
	}
	for _, file := range slices.Backward(edit.Siblings(files, dirs...)) { // the last one decides
		for _, line := range edit.Lines(files, file) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if key = strings.TrimSpace(key); ok && slices.Contains(settings, key) {
				return fmt.Sprintf("%s sets %s=%s for %s, and overrides the line in fstab", file, key, strings.TrimSpace(value), at)
			}
		}
	}
	return ""
}

// UnitName returns the name of the unit for a path, as systemd-escape --path has it.
func UnitName(at, suffix string) string {
	trimmed := strings.Trim(path.Clean(at), "/")
	if trimmed == "" {
		return "-." + suffix
	}
	var b strings.Builder
	for i := range len(trimmed) {
		switch c := trimmed[i]; {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i > 0, c == '_', c == ':', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + "." + suffix
}
