package gather_test

import (
	"context"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/facts/gather"
)

// answers runs queries on this machine.
func answers(t *testing.T, q facts.Queries) (map[string]map[string]any, []string) {
	raw, err := gather.Gather(context.Background(), []string{q.Collector()}, gather.Options{})
	require.NoError(t, err)
	var report struct {
		Asked   map[string]map[string]any `json:"asked"`
		Partial []string                  `json:"partial"`
	}
	require.NoError(t, json.Unmarshal(raw, &report))
	return report.Asked, report.Partial
}

func TestAskPaths(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("hello"), 0o600))
	require.NoError(t, os.Chmod(file, 0o640|os.ModeSetuid))
	require.NoError(t, os.Symlink("nowhere", link))
	got, partial := answers(t, facts.Queries{
		"file": {Stat: file}, "dir": {Stat: dir}, "link": {Stat: link}, "none": {Stat: filepath.Join(dir, "none")}, "below": {Stat: filepath.Join(file, "below")},
	})
	require.Empty(t, partial)
	require.Equal(t, true, got["file"]["exists"])
	require.Equal(t, "file", got["file"]["type"])
	require.Equal(t, "4640", got["file"]["mode"])
	require.Equal(t, float64(5), got["file"]["size"])
	me, err := user.Current()
	require.NoError(t, err)
	require.Equal(t, me.Username, got["file"]["owner"])
	require.Equal(t, "directory", got["dir"]["type"])
	require.Equal(t, "link", got["link"]["type"])
	require.Equal(t, "nowhere", got["link"]["target"])
	require.Equal(t, false, got["none"]["exists"])
	require.Equal(t, "", got["none"]["type"])
	require.Equal(t, false, got["below"]["exists"])
}

func TestAskCommands(t *testing.T) {
	got, partial := answers(t, facts.Queries{
		"yes":  {Command: "echo 'a b'; echo; echo c; echo no >&2"},
		"no":   {Command: "exit 3"},
		"much": {Command: "head -c 100000 /dev/zero"},
		"in":   {Command: "cat; pwd"},
	})
	require.Equal(t, map[string]any{"stdout": "a b\n\nc", "stderr": "no", "exit_code": float64(0)}, got["yes"])
	require.Equal(t, float64(3), got["no"]["exit_code"])
	require.Equal(t, "/", got["in"]["stdout"])
	require.Equal(t, []string{"much: it prints more than 64 KiB"}, partial)
	require.NotContains(t, got, "much")
}

func TestAskAccounts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no getent")
	}
	got, partial := answers(t, facts.Queries{"root": {Getent: "passwd root"}, "none": {Getent: "passwd no-such-user"}, "what": {Getent: "nothing root"}})
	require.Equal(t, true, got["root"]["exists"])
	require.Equal(t, "0", got["root"]["fields"].([]any)[2])
	require.Equal(t, map[string]any{"exists": false, "fields": []any{}}, got["none"])
	require.Len(t, partial, 1)
	require.Contains(t, partial[0], "what: exit status 1: Unknown database: nothing")
}

// TestQueriesStayText checks that any query of a play is one word for any shell.
func TestQueriesStayText(t *testing.T) {
	q := facts.Queries{"a": {Command: "echo 'x y' \"$HOME\" `id`\n!é\xff"}}
	require.Regexp(t, `^ask=[A-Za-z0-9_-]+$`, q.Collector())
	back, ok, err := facts.ParseQueries(q.Collector())
	require.NoError(t, err)
	require.True(t, ok)
	require.Contains(t, back["a"].Command, "`id`\n!é")
	require.Empty(t, facts.Queries{}.Collector())
	_, ok, err = facts.ParseQueries("host")
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = facts.ParseQueries("ask=%")
	require.True(t, ok)
	require.Error(t, err)
}

func TestAskPackages(t *testing.T) {
	needs.Program(t, "dpkg-query")
	got, partial := answers(t, facts.Queries{"dpkg": {Package: "dpkg"}, "none": {Package: "no-such-package"}})
	require.Empty(t, partial)
	require.Equal(t, true, got["dpkg"]["installed"])
	require.Regexp(t, `^\d+\.`, got["dpkg"]["version"])
	require.Equal(t, map[string]any{"installed": false, "version": ""}, got["none"])
}
