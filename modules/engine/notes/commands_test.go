package notes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// ranAndTold has a run finish commands of a play, and a controller acknowledge them.
func ranAndTold(t *testing.T, l *memoryLog, lock wire.Lock, play int, commands ...string) {
	t.Helper()
	r := &Results{}
	require.NoError(t, r.Open(l))
	_, err := r.Begin(wire.Once{Run: lock.Run, Play: play}, lock, "hash", since)
	require.NoError(t, err)
	for i, name := range commands {
		require.NoError(t, r.Attempt(&Attempt{Index: i, Type: "exec", Name: name, Command: CommandOf("exec", name, nil), Running: true}))
		f := finish(i, wire.Changed)
		f.Type, f.Name = "exec", name
		require.NoError(t, r.Finish(f))
	}
	require.NoError(t, r.Finish(finish(len(commands), wire.Changed)))
	require.NoError(t, r.End(true))
	require.NoError(t, r.Acknowledge(wire.Ack{Run: lock.Run, Play: play}))
}

// begun begins a play and returns the names of commands that must not start again.
func begun(t *testing.T, l *memoryLog, lock wire.Lock, play int, hash string) (ran []string, forgotten bool) {
	t.Helper()
	r := &Results{}
	require.NoError(t, r.Open(l))
	b, err := r.Begin(wire.Once{Run: lock.Run, Play: play}, lock, hash, since)
	require.NoError(t, err)
	for _, f := range b.Ran {
		require.True(t, f.MustStay())
		ran = append(ran, f.Name)
	}
	return ran, b.Forgotten
}

// TestCommandsAfterOtherRuns resumes a run after other runs have changed the host: its commands are still known.
func TestCommandsAfterOtherRuns(t *testing.T) {
	l := &memoryLog{}
	ranAndTold(t, l, wire.Lock{Run: "r1"}, 1, "a", "b")
	for n := range 20 {
		ranAndTold(t, l, wire.Lock{Run: fmt.Sprint("other", n)}, 1)
	}
	require.Less(t, len(l.text), 4<<10, "of the other runs only the last one is kept")
	for _, hash := range []string{"hash", "changed"} {
		ran, forgotten := begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "r2", First: "r1", Epoch: 1}, 1, hash)
		require.Equal(t, []string{"a", "b"}, ran)
		require.False(t, forgotten)
	}
	// The connection of the first run was lost, and it comes back after the others.
	ran, _ := begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "r1"}, 1, "hash")
	require.Equal(t, []string{"a", "b"}, ran)
	ran, _ = begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "r1"}, 1, "of another host on the same machine")
	require.Empty(t, ran)
	ran, _ = begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "r2", First: "r1", Epoch: 1}, 2, "hash")
	require.Empty(t, ran, "they belong to another play")
}

// TestCommandsForAnotherHost resumes a run with a changed manifest, in which a resource that runs here for another host has
// another number.
func TestCommandsForAnotherHost(t *testing.T) {
	l := &memoryLog{}
	r := &Results{}
	require.NoError(t, r.Open(l))
	_, err := r.Begin(wire.Once{Run: "r1", Play: 1, For: "web 1 3"}, wire.Lock{Run: "r1"}, "hash", since)
	require.NoError(t, err)
	require.NoError(t, r.Attempt(&Attempt{Type: "exec", Name: "a", Command: "c", Running: true}))
	require.NoError(t, r.Finish(finish(0, wire.Changed)))
	require.NoError(t, r.End(true))
	ranAndTold(t, l, wire.Lock{Run: "other"}, 1)
	for of, n := range map[string]int{"web 1 3": 1, "web 1 4": 1, "web 2 3": 0, "": 0} {
		r := &Results{}
		require.NoError(t, r.Open(&memoryLog{text: l.text}))
		b, err := r.Begin(wire.Once{Run: "r2", Play: 1, For: of}, wire.Lock{Run: "r2", First: "r1", Epoch: 1}, "hash", since)
		require.NoError(t, err)
		require.Len(t, b.Ran, n, of)
	}
}

// TestCommandsOfAFullLog resumes a run whose results took more room than the host has for results.
func TestCommandsOfAFullLog(t *testing.T) {
	l := &memoryLog{}
	r := &Results{}
	require.NoError(t, r.Open(l))
	_, err := r.Begin(wire.Once{Run: "r1", Play: 1}, wire.Lock{Run: "r1"}, "hash", since)
	require.NoError(t, err)
	require.NoError(t, r.Attempt(&Attempt{Index: 0, Type: "exec", Name: "a", Command: "c", Running: true}))
	command := finish(0, wire.Changed)
	command.Type, command.Name = "exec", "a"
	require.NoError(t, r.Finish(command))
	big := finish(1, wire.Changed)
	big.Result.Diff, big.Register = string(make([]byte, maxResults/10)), true // six bytes of JSON each
	require.NoError(t, r.Finish(big))
	require.NoError(t, r.End(true))
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	require.Greater(t, len(l.text), maxResults/2)
	ran, _ := begun(t, l, wire.Lock{Run: "r2", First: "r1", Epoch: 1}, 1, "changed")
	require.Equal(t, []string{"a"}, ran)
	require.Less(t, len(l.text), 4<<10)
	ran, _ = begun(t, l, wire.Lock{Run: "r3", First: "r1", Epoch: 2}, 1, "changed again")
	require.Equal(t, []string{"a"}, ran)
}

// TestForgottenCommands has enough later runs for the host to drop the first one, which its resumes must learn.
func TestForgottenCommands(t *testing.T) {
	l := &memoryLog{}
	ranAndTold(t, l, wire.Lock{Run: "r1"}, 1, "a")
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%0100d", i))
	}
	for n := range 12 {
		ranAndTold(t, l, wire.Lock{Run: fmt.Sprint("other", n)}, 1, many...)
		require.Less(t, len(l.text), maxCommands+64<<10)
	}
	resume := wire.Lock{Run: "r2", First: "r1", Epoch: 1}
	ran, forgotten := begun(t, &memoryLog{text: l.text}, resume, 1, "hash")
	require.Empty(t, ran)
	require.True(t, forgotten)
	_, forgotten = begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "r1"}, 1, "hash")
	require.True(t, forgotten)
	_, forgotten = begun(t, &memoryLog{text: l.text}, resume, 2, "hash")
	require.False(t, forgotten, "no run had begun the second play")
	_, forgotten = begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "new"}, 1, "hash")
	require.False(t, forgotten)
	ran, forgotten = begun(t, &memoryLog{text: l.text}, wire.Lock{Run: "r3", First: "other11", Epoch: 1}, 1, "changed")
	require.Len(t, ran, 100)
	require.False(t, forgotten)

	// A resume that was cut, and the next one, know it, too.
	for n := range 3 {
		_, forgotten = begun(t, l, wire.Lock{Run: fmt.Sprint("resume", n), First: "r1", Epoch: n + 1}, 1, "hash")
		require.True(t, forgotten)
	}
}
