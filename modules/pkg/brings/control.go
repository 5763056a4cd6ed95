package brings

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Control has the files and scripts of a package, by its control member.
type Control struct {
	Files     []string // regular files, without Conffiles
	Conffiles []string
	Scripts   []string // preinst, config, postinst: what the installation runs
	Triggers  []string // triggers that the installation activates by name

	// Only packages of rpm have these.
	Kept    []string  // Conffiles that stay if they exist and differ
	Ghosts  []string  // files that may be made later, or omitted
	Leaving []string  // scripts that the removal runs
	Answers []Trigger // scripts that run after changes of other packages or files
}

// ParseControl reads the tar archive of a control member.
func ParseControl(text []byte) (Control, error) {
	entries, whole, err := ReadTar(text)
	if err != nil || !whole {
		return Control{}, errArchive
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Kind == modules.Regular {
			files[e.Path] = string(e.Data)
		}
	}
	if files["/control"] == "" {
		return Control{}, errArchive
	}
	var c Control
	for line := range strings.Lines(files["/conffiles"]) {
		if name := strings.TrimSpace(line); path.IsAbs(name) { // others have a flag: dpkg removes them
			c.Conffiles = append(c.Conffiles, path.Clean(name))
		}
	}
	for line := range strings.Lines(files["/md5sums"]) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if name = path.Join("/", strings.TrimSpace(name)); ok && !slices.Contains(c.Conffiles, name) {
			c.Files = append(c.Files, name)
		}
	}
	for _, name := range []string{"/preinst", "/config", "/postinst"} {
		if script := files[name]; script != "" {
			c.Scripts = append(c.Scripts, script)
		}
	}
	for line := range strings.Lines(files["/triggers"]) {
		if words := strings.Fields(line); len(words) == 2 && strings.HasPrefix(words[0], "activate") {
			c.Triggers = append(c.Triggers, words[1])
		}
	}
	return c, nil
}
