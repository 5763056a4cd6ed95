//go:build !host

package wait

import (
	"embed"
	"io/fs"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (w *Wait) Related() []modules.Relation {
	if w.Path != "" {
		return []modules.Relation{{Verb: modules.Needs, Thing: modules.PathOf(w.Path), Reach: modules.Nearest, Why: "path that it waits for"}}
	}
	words, err := shellquote.Split(w.Command)
	if err != nil || len(words) == 0 {
		return nil
	}
	return modules.NeedsCommand(words[0], "", "command")
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Wait) Examples() fs.FS { return examples }
