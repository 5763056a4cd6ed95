// Package mountinfo reads the list of mounted file systems of Linux: proc_pid_mountinfo(5).
package mountinfo

import (
	"iter"
	"strconv"
	"strings"
)

// File has the mounts of this process. Other systems have no such file.
const File = "/proc/self/mountinfo"

// A Mount is one line. If a line is cut off, its last fields are missing.
type Mount struct {
	ID      int
	Parent  int      // ID of the mount that Point is in
	Device  string   // MAJOR:MINOR, the same for all mounts of one file system
	Root    string   // mounted directory or file, as a path in the file system
	Point   string   // absolute path of the mount point
	Options []string // mount options, then options of the file system
	OfType  []string // options of the file system alone
	Type    string   // file system type, such as ext4
	Source  string   // device, or another source

	on Place // place of the mount point; set by [NewTable]
}

// Parse returns the mounts in the text, in its order. If several have one mount point, the last one is visible.
func Parse(text string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(text) {
			if m, ok := parse(line); ok && !yield(m) {
				return
			}
		}
	}
}

func parse(line string) (m Mount, ok bool) {
	head, tail, _ := strings.Cut(line, " - ")
	before, after := strings.Fields(head), strings.Fields(tail)
	if len(before) < 5 {
		return Mount{}, false
	}
	m.ID, _ = strconv.Atoi(before[0])
	m.Parent, _ = strconv.Atoi(before[1])
	m.Device, m.Root, m.Point = before[2], unescaped(before[3]), unescaped(before[4])
	if len(before) > 5 && len(after) > 2 {
		m.Type, m.Source = after[0], unescaped(after[1])
		m.OfType = strings.Split(after[2], ",")
		m.Options = append(strings.Split(before[5], ","), m.OfType...)
	}
	return m, true
}

// unescaped is a word without the octal escapes of blanks and backslashes.
func unescaped(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+3 < len(word) {
			if n, err := strconv.ParseUint(word[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}
