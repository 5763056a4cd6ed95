package link

import (
	"errors"
	"path"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
)

// linked is the files as they will be with the link.
type linked struct {
	modules.FileReader
	at, target string
}

// Stat implements [modules.FileReader].
func (l linked) Stat(path string) (modules.FileInfo, error) {
	if path == l.at {
		return modules.FileInfo{Kind: modules.Symlink, Target: l.target}, nil
	}
	return l.FileReader.Stat(path)
}

// checkWay refuses a link that leads in a circle, and a path that leads through
// the link that it names: with the new target it would lead elsewhere.
func (l *Link) checkWay(files modules.FileReader) error {
	dir, _, err := modules.Resolve(files, path.Dir(l.Name))
	if err != nil {
		return err
	}
	will := linked{files, path.Join(dir, path.Base(l.Name)), l.Target}
	if again, _, err := modules.Resolve(will, path.Dir(l.Name)); err != nil || again != dir {
		return modules.Refuse("the path %s leads through the link that it names; write %s", l.Name, will.at)
	}
	if _, _, err := modules.Resolve(will, l.Name); errors.Is(err, syscall.ELOOP) {
		return modules.Refuse("%s would lead to itself through %q", l.Name, l.Target)
	}
	return nil
}
