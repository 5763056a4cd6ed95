package sysctl

import (
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// overridden returns a warning if the value after a boot differs from the one in the file, or "".
func (s *Sysctl) overridden(h modules.Host) string {
	if !s.persists() || s.Ensure == absent {
		return ""
	}
	own := s.edited().Path
	siblings := edit.Siblings(h.Files, modules.MergedFolders("sysctl.d")...)
	later, _ := edit.ReadBefore(h.Files, own, siblings)
	winner, is := "", ""
	for _, name := range later {
		for _, line := range edit.Lines(h.Files, name) {
			if key, value, ok := parse(line); ok && key == s.key() {
				winner, is = name, value
			}
		}
	}
	if winner == "" || is == value(s.Value) {
		return ""
	}
	return fmt.Sprintf("a boot reads %s after %s, and sets %s to %q; remove the line there, or write it there with 'path'", winner, own, s.Name, is)
}
