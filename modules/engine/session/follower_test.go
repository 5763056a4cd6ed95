package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// follow applies a catalog with followed commands, and returns the messages up to its end.
func (c *controller) follow(entries ...wire.Entry) (all []*wire.Message) {
	c.t.Helper()
	c.send(&wire.Message{Catalog: &wire.Catalog{Follow: true, Parallel: len(entries), Entries: entries}})
	return c.untilDone()
}

func (c *controller) untilDone() (all []*wire.Message) {
	c.t.Helper()
	for {
		m := c.said()
		if m.Done != nil {
			return all
		}
		all = append(all, m)
	}
}

// TestSessionSendsOutputWhileACommandRuns has a command wait until its output is seen.
func TestSessionSendsOutputWhileACommandRuns(t *testing.T) {
	c := serve(t)
	seen := filepath.Join(c.dir, "seen")
	c.send(&wire.Message{Catalog: &wire.Catalog{Follow: true, Entries: []wire.Entry{
		command("printf 'one\\ntwo\\nhal'; until test -e "+seen+"; do sleep 0.01; done; echo f; echo oops >&2", ""),
	}}})
	require.Equal(t, &wire.Output{Text: "one\ntwo\n"}, c.said().Output)
	require.NoError(t, touch(seen))
	var stdout, stderr string
	for _, m := range c.untilDone() {
		switch {
		case m.Result != nil:
			require.Equal(t, "half\n", stdout, "the rest comes before the result")
			require.Equal(t, "oops\n", stderr)
			require.Equal(t, "one\ntwo\nhalf\n", m.Result.Exit.Stdout.Text)
			stdout = "told"
		case m.Output.Stderr:
			stderr += m.Output.Text
		default:
			stdout += m.Output.Text
		}
	}
	require.Equal(t, "told", stdout)
}

// TestSessionFollowsOnlyWhatItMay sends no output without a request, and none of sensitive resources.
func TestSessionFollowsOnlyWhatItMay(t *testing.T) {
	c := serve(t)
	c.catalog(command("echo a", ""))
	require.Len(t, c.untilDone(), 1)

	secret := with(command("echo hunter2", ""), func(e *wire.Entry) { e.Sensitive = true })
	said := c.follow(secret, command("echo b", ""))
	require.Len(t, said, 3)
	for _, m := range said {
		if m.Output != nil {
			require.Equal(t, &wire.Output{Index: 1, Text: "b\n"}, m.Output)
		}
	}
	said = c.follow(with(command("echo a", ""), func(e *wire.Entry) { e.Check = true }), command("true", `"onlyif":"echo looks"`))
	require.Len(t, said, 2, "nothing of a prediction, and of a guard")
}

// TestSessionDropsFloods counts the lines that it does not send.
func TestSessionDropsFloods(t *testing.T) {
	c := serve(t)
	const lines = 100_000
	sent, dropped := 0, 0
	for _, m := range c.follow(command("yes $(printf '%040d' 0) | head -100000; printf '\\\\377\\\\376\\n'", "")) {
		if o := m.Output; o != nil {
			sent, dropped = sent+strings.Count(o.Text, "\n"), dropped+o.Dropped
		}
	}
	require.Equal(t, lines+1, sent+dropped)
	require.NotZero(t, dropped)
	require.NotZero(t, sent)
}

func touch(path string) error { return os.WriteFile(path, nil, 0o600) }
