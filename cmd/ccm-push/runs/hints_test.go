package runs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// wholeRuns are texts with a command for a whole run, which needs no other names or options than the RUN.
var wholeRuns = map[string]bool{
	"ccm-push resume ":  true, // resume.go: of a run that was undone; its options are recorded
	" applies it again": true,
	"it has ended; ccm-push resume %[1]s continues it, ccm-push undo %[1]s undoes it": true, // rollouts
	"to undo its changes run ccm-push undo %s":                                        true,
	"ccm-push resume %[1]s, or undo %[1]s":                                            true,
	"run %s ends on this machine, because NATS has lost the data of the run\n  hint: the stream may have been deleted; to continue the run: ccm-push resume %s": true, // its record is here
	"the run ends; to continue it: ccm-push resume %s": true,

	// A run other than the named one.
	"the last run that changed something was an undo of run %s\n  hint: to revert the undo: ccm-push undo %s; to list all runs: ccm-push runs": true,

	// The text names the missing options: the URL may have a password.
	"run %s was released by %s before its end\n  hint: continue it with ccm-push resume %[1]s, the same --workers, and in a folder with the same files":               true,
	"no message from %s, the controller of run %s, since %s\n  hint: continue it with ccm-push resume %[2]s, the same --workers, and in a folder with the same files": true,
}

// TestHintsKeepTheirArguments finds texts that put a resume or undo command together by hand. The functions of
// continue.go keep the limits of the command.
func TestHintsKeepTheirArguments(t *testing.T) {
	command := regexp.MustCompile(`ccm-push (undo|resume) (%|$)`)
	found := 0
	for _, dir := range []string{"..", "../../../playbooks"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					if command.MatchString(text) {
						found++
						assert.True(t, wholeRuns[text], "%s: %q: use continuing or asGiven", path, text)
					}
				}
				return true
			})
			return nil
		}))
	}
	require.NotZero(t, found)
}

// TestContinuing parses the command that continues an undo: it selects what the undo selected.
func TestContinuing(t *testing.T) {
	h := record.Header{Undoes: "01R", UndoesOnly: []string{"file#/etc/my file", "exec#it's"}, Flags: []record.Flag{
		{Name: "limit", Words: []string{"web*:!web9"}}, {Name: "inventory", Words: []string{"a b.yaml", "c.yaml"}},
		{Name: "check", Words: []string{"false"}}, {Name: "become", Words: []string{"true"}}, {Name: "workers", Withheld: true},
	}}
	require.Equal(t, []string{"undo", "01R", "file#/etc/my file", "exec#it's", "--limit", "web*:!web9", "--inventory", "a b.yaml", "--inventory", "c.yaml", "--become=true"}, continuing(record.Store{}, h))
	require.Equal(t, `ccm-push undo 01R 'file#/etc/my file' 'exec#it'\''s'`, arguments.Pasted(continuing(record.Store{}, record.Header{Undoes: "01R", UndoesOnly: h.UndoesOnly})))
	require.Nil(t, continuing(record.Store{}, record.Header{Run: "01R", AdHoc: true}))
}
