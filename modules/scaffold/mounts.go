package scaffold

import (
	"io"
	"path"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// mounts are the paths where file systems are mounted. They are read when
// somebody asks for the first time.
type mounts struct {
	read   bool
	points map[string]bool
}

// maxMountInfo bounds what is read of [mountinfo.File], in bytes. Where there is no
// such file, rmdir(2) alone keeps mount points.
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
		if file, err := files.Open(mountinfo.File); err == nil {
			defer file.Close()
			text, _ := io.ReadAll(io.LimitReader(file, maxMountInfo)) // what there is of it counts
			m.points = parseMounts(string(text))
		}
	}
	return m.points[name]
}

// parseMounts gives the paths where something is mounted.
func parseMounts(text string) map[string]bool {
	points := map[string]bool{}
	for m := range mountinfo.Parse(text) {
		points[m.Point] = true
	}
	return points
}
