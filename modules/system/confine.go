package system

import (
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Within implements [modules.DirectoryOpener].
func (f *files) Within(dir string) modules.FileWriter {
	return &files{changed: f.changed, within: dir, sweptDirs: f.sweptDirs}
}

// confinedPlace finds path from the directory that a writer keeps to, through no link
// that leads out of it.
func confinedPlace(within, path string) (*rooted.Place, error) {
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(within, "/")+"/")
	if !ok {
		return nil, at("change", path, errNotWithin)
	}
	top, err := rooted.Directory(within)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	place, err := rooted.ParentBelow(top, below)
	return place, at("open the directory of", path, err)
}

var errNotWithin = errors.New("the path is not below the directory that is managed")
