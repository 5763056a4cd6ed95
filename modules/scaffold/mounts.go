package scaffold

import (
	"bufio"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// mounts are the paths where file systems are mounted. They are read when
// somebody asks for the first time.
type mounts struct {
	read   bool
	points map[string]bool
}

// mountInfo is where Linux tells (proc_pid_mountinfo(5)). Elsewhere there is no
// such file, and rmdir(2) alone keeps mount points.
const mountInfo = "/proc/self/mountinfo"

// maxMountInfo bounds what is read of it, in bytes.
const maxMountInfo = 16 << 20

// mounted reports whether something is mounted at a path below the target. The
// kernel knows it by the path without links.
func (v *survey) mounted(name string) bool {
	if !v.mounts.read {
		v.real = v.Name
		if at, _, err := modules.Resolve(v.h.Files, v.Name); err == nil {
			v.real = at
		}
	}
	return v.mounts.has(v.h.Files, path.Join(v.real, name))
}

// has reports whether something is mounted at a path.
func (m *mounts) has(files modules.FileReader, name string) bool {
	if !m.read {
		m.read = true
		if file, err := files.Open(mountInfo); err == nil {
			defer file.Close()
			m.points = parseMounts(io.LimitReader(file, maxMountInfo))
		}
	}
	return m.points[name]
}

// parseMounts takes the fifth word of each line.
func parseMounts(r io.Reader) map[string]bool {
	points := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 4 {
			points[unescaped(words[4])] = true
		}
	}
	return points
}

// unescaped is a path without the octal escapes of blanks and backslashes.
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
