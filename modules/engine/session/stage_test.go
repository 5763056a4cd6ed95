package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestSessionGoesOnWithTheNextStage makes the second command of the first one's output, which is withheld from its
// result.
func TestSessionGoesOnWithTheNextStage(t *testing.T) {
	c := serve(t)
	first := with(command("echo hunter2", ""), func(e *wire.Entry) { e.Sensitive, e.Register = true, true })
	c.send(&wire.Message{Catalog: &wire.Catalog{Until: 1, Fixed: 1, Entries: []wire.Entry{first, {Type: "exec", Name: "b", Awaits: []int{0}}}}})
	result := c.said().Result
	require.Equal(t, wire.Changed, result.Status)
	require.Empty(t, result.Exit.Stdout.Text)
	require.Equal(t, "hunter2\n", result.Registered.Exit.Stdout.Text)
	require.Equal(t, &wire.Done{}, c.said().Done)

	c.send(&wire.Message{Catalog: &wire.Catalog{From: 1, Fixed: 1, Entries: []wire.Entry{first, command("test hunter2 = "+"hunter2", "")}}})
	result = c.said().Result
	require.Equal(t, 1, result.Index)
	require.Equal(t, wire.Changed, result.Status)
	require.Nil(t, result.Registered)
	require.Equal(t, &wire.Done{}, c.said().Done)
}
