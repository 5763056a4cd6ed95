package file_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestBackup changes a file three times: to another text, not at all, and only to another mode.
func TestBackup(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "old\n", Mode: 0o640}})
	written := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	require.NoError(t, os.Chtimes(root+"/f", written, written))
	apply := func(properties string) (kept []string) {
		res := modtest.Decode(t, modules.Registry{file.Type()}, "file", own(`"name":"$ROOT/f","backup":true,`+properties), root)
		plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err)
		if plan.Pending() {
			_ = res.Apply(t.Context(), modtest.Host(), plan)
		}
		kept, err = filepath.Glob(root + "/f.*")
		require.NoError(t, err)
		return kept
	}
	name := root + "/f." + modules.TextContent("old\n").SHA256()[:8] + ".2024-05-06@07:08:09~"
	require.Empty(t, apply(`"mode":"0640","content":"new\n","validate":"false %s"`), "what is refused replaces nothing")
	for _, properties := range []string{`"mode":"0644","content":"new\n"`, `"mode":"0644","content":"new\n"`, `"mode":"0600","content":"new\n"`} {
		require.Equal(t, []string{name}, apply(properties))
	}
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode(), "nobody can read the copy who could not read the file")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old\n", string(text))
	require.Len(t, apply(`"mode":"0600","content":"third\n"`), 2)
}

func TestBackupConverges(t *testing.T) {
	content := []modules.Change{{Property: "content", Have: digest("old\n"), Want: digest("new\n")}}
	modtest.Converges(t, file.Type(),
		modtest.Fixture{
			Name: "content", Properties: own(`"name":"$ROOT/d/f","mode":"0640","content":"new\n","backup":true`), Action: "updated the file",
			Tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f", Text: "old\n", Mode: 0o640}}, Changes: content,
			Stays: "d/f.????????.????-??-??@??:??:??~",
		},
		modtest.Fixture{
			Name: "link", Properties: own(`"name":"$ROOT/l","mode":"0640","content":"new\n","backup":true`), Action: "updated the file",
			Tree: []modtest.Node{{Path: "f", Text: "old\n", Mode: 0o640}, {Path: "l", Link: "f"}}, Changes: content,
		},
		modtest.Fixture{
			Name: "new", Properties: own(`"name":"$ROOT/f","mode":"0640","backup":true`), Action: "created an empty file with requested attributes",
			Changes: []modules.Change{{Property: "ensure", Have: "absent", Want: "present"}},
		},
	)
}
