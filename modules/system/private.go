package system

import (
	"os"
	"path/filepath"
)

// privateDir is where types keep what they have to remember: for root beside the
// journal, for others beside the program, which stands in a directory of their own.
func privateDir() string {
	if os.Geteuid() == 0 {
		return rootJournalDir
	}
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(program)
}
