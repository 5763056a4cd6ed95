//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kballard/go-shellquote"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write anew what is recorded: Ansible's answers, the transcripts of docs/start/tutorial.md and docs/guide/porting.md")

// recordedFolder has an inventory of every kind, and Ansible's answers in recorded.txtar. The tests of cmd/ccm-push
// compare these with ccm-push's answers.
const recordedFolder = "../cmd/ccm-push/testdata/ansible"

// TestRecordedAnswers compares the recorded answers with those of Ansible's own tools.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(recordedFolder, "recorded.txtar")
	recorded, err := txtar.ParseFile(file)
	require.NoError(t, err)
	var commands [][]string
	for _, f := range recorded.Files {
		words, err := shellquote.Split(f.Name)
		require.NoError(t, err, f.Name)
		commands = append(commands, words)
	}
	for i, a := range ansibleAnswers(t, recordedFolder, commands) {
		text := a.Stdout
		if a.Code != 0 {
			text = fmt.Sprintf("exit status %d\n", a.Code)
		}
		if *update {
			recorded.Files[i].Data = []byte(text)
			continue
		}
		require.Equal(t, string(recorded.Files[i].Data), text, recorded.Files[i].Name)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, txtar.Format(recorded), 0o644))
	}
}
