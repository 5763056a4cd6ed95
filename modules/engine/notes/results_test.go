package notes

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A memoryLog is a log that is no file.
type memoryLog struct {
	text    []byte
	durable int // of its bytes, so many outlive a crash
	err     error
}

func (l *memoryLog) Read() ([]byte, error) { return bytes.Clone(l.text), l.err }

func (l *memoryLog) Append(line []byte, durable bool) error {
	if l.err != nil {
		return l.err
	}
	if l.text = append(l.text, line...); durable {
		l.durable = len(l.text)
	}
	return nil
}

func (l *memoryLog) Replace(text []byte) error {
	l.text, l.durable = bytes.Clone(text), len(text)
	return l.err
}

var since = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func finish(index int, status wire.Status) *Finished {
	return &Finished{
		Result: &wire.Result{Index: index, Status: status, Message: "done"}, Type: "file", Name: fmt.Sprint("/", index), Changed: status == wire.Changed,
	}
}

// kept opens a log and gives what was kept of a catalog, with what is untold of others.
func kept(t *testing.T, l *memoryLog, once wire.Once) (r *Results, finished []*Finished, ended bool, untold []*wire.Untold) {
	t.Helper()
	r = &Results{}
	require.NoError(t, r.Open(l))
	finished, ended, err := r.Begin(once, "hash", "ann@ctl", since)
	require.NoError(t, err)
	return r, finished, ended, r.Untold()
}

func TestResults(t *testing.T) {
	l := &memoryLog{}
	mine, other := wire.Once{Run: "r1", Play: 1}, wire.Once{Run: "r2", Play: 1}
	r, finished, ended, untold := kept(t, l, mine)
	require.Empty(t, finished)
	require.False(t, ended)
	require.Empty(t, untold)
	require.NoError(t, r.Finish(finish(0, wire.Stable)))
	require.Empty(t, l.text, "what is stable waits for others")
	require.NoError(t, r.Finish(finish(1, wire.Changed)))
	require.Equal(t, len(l.text), l.durable, "what was changed outlives a crash")
	require.NoError(t, r.Finish(finish(2, wire.Failed)))
	require.NoError(t, r.Flush())

	// The same run goes on.
	r, finished, ended, untold = kept(t, l, mine)
	require.Equal(t, []*Finished{finish(0, wire.Stable), finish(1, wire.Changed), finish(2, wire.Failed)}, finished)
	require.False(t, ended)
	require.Empty(t, untold)
	require.NoError(t, r.Finish(finish(2, wire.Changed)), "it has had its turn again")
	require.NoError(t, r.End(true))
	_, finished, ended, _ = kept(t, l, mine)
	require.Len(t, finished, 3)
	require.Equal(t, wire.Changed, finished[2].Result.Status)
	require.True(t, ended)

	// Another run tells what that one could not, until it is acknowledged.
	r, finished, ended, untold = kept(t, l, other)
	require.Empty(t, finished)
	require.False(t, ended)
	want := []*wire.Untold{{Run: "r1", Play: 1, Holder: "ann@ctl", Since: since, Results: []wire.UntoldResult{
		{Type: "file", Name: "/1", Status: wire.Changed, Message: "done"}, {Type: "file", Name: "/2", Status: wire.Changed, Message: "done"},
	}}}
	require.Equal(t, want, untold)
	require.NoError(t, r.Flush())
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r2", Play: 1}), "it is under way")
	_, _, _, untold = kept(t, l, wire.Once{Run: "r3", Play: 1})
	require.Len(t, untold, 2)
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	require.NoError(t, r.End(true))
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r2", Play: 1}))
	require.Empty(t, l.text)
}

// TestResultsThatAreKept has several controllers work for one run: what one of them has acknowledged is
// still there for another one that comes late, and told to nobody else.
func TestResultsThatAreKept(t *testing.T) {
	l := &memoryLog{}
	one, two := wire.Once{Run: "r1", Play: 1, Keep: true}, wire.Once{Run: "r1", Play: 2, Keep: true}
	r, _, _, _ := kept(t, l, one)
	require.NoError(t, r.Finish(finish(0, wire.Changed)))
	require.NoError(t, r.Finish(finish(1, wire.Stable)))
	require.NoError(t, r.End(true))
	require.False(t, AllTold(l.text))
	durable := l.durable
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	require.Equal(t, durable, l.durable, "the disk is not waited for")
	require.True(t, AllTold(l.text))
	size := len(l.text)
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	require.Len(t, l.text, size, "it is known")

	// The next play, and then somebody who is late with the first one.
	r, finished, _, untold := kept(t, l, two)
	require.Empty(t, finished)
	require.Empty(t, untold)
	require.NoError(t, r.Finish(finish(0, wire.Failed)))
	require.NoError(t, r.End(true))
	r, finished, ended, untold := kept(t, l, one)
	require.Len(t, finished, 2)
	require.True(t, ended)
	require.Len(t, untold, 1, "the second play is told by nobody yet")
	require.NoError(t, r.End(false))
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 2}))

	// What is done again has to be told again, and is kept for the play that it belongs to.
	r, _, _, _ = kept(t, l, one)
	require.NoError(t, r.Finish(finish(1, wire.Changed)))
	_, finished, ended, untold = kept(t, l, two)
	require.Len(t, finished, 1)
	require.True(t, ended)
	require.Len(t, untold, 1)
	require.Equal(t, []wire.UntoldResult{{Type: "file", Name: "/1", Status: wire.Changed, Message: "done"}}, untold[0].Results)

	// Another run tells that, and has the rest forgotten.
	r, finished, _, untold = kept(t, l, wire.Once{Run: "r2", Play: 1, Keep: true})
	require.Empty(t, finished)
	require.Len(t, untold, 1)
	require.Len(t, untold[0].Results, 1)
	require.NotContains(t, string(l.text), `"play":2`)
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	_, finished, _, _ = kept(t, l, one)
	require.Empty(t, finished, "another run has begun since")

	// What was taken back is forgotten.
	r, _, _, _ = kept(t, l, one)
	require.NoError(t, r.End(true))
	require.NoError(t, r.Forget("r1", 1))
	_, finished, ended, _ = kept(t, l, one)
	require.Empty(t, finished)
	require.False(t, ended)
}

// TestResultsWhenTheClockJumps has the clock be a day off in each session of a run: it goes on
// all the same, and another one is told what it could not.
func TestResultsWhenTheClockJumps(t *testing.T) {
	l := &memoryLog{}
	once, day := wire.Once{Run: "r1", Play: 1}, 24*time.Hour
	for i, jump := range []time.Duration{0, day, -day, 2 * day} {
		r := &Results{}
		require.NoError(t, r.Open(l))
		finished, ended, err := r.Begin(once, "hash", "ann@ctl", since.Add(jump))
		require.NoError(t, err)
		require.Len(t, finished, i)
		require.False(t, ended)
		require.Empty(t, r.Untold())
		require.NoError(t, r.Finish(finish(i, wire.Changed)))
	}
	r := &Results{}
	require.NoError(t, r.Open(l))
	_, _, err := r.Begin(wire.Once{Run: "r2", Play: 1}, "hash", "ann@ctl", since.Add(-day))
	require.NoError(t, err)
	require.Len(t, r.Untold(), 1)
	require.Len(t, r.Untold()[0].Results, 4)
	require.Equal(t, since, r.Untold()[0].Since)
}

// TestResultsInBetween has another run apply while one has lost its connection: all is then
// checked again, and what had been done is told.
func TestResultsInBetween(t *testing.T) {
	l := &memoryLog{}
	mine := wire.Once{Run: "r1", Play: 1}
	r, _, _, _ := kept(t, l, mine)
	require.NoError(t, r.Finish(finish(0, wire.Changed)))
	r, _, _, _ = kept(t, l, wire.Once{Run: "r2", Play: 1})
	require.NoError(t, r.Finish(finish(0, wire.Changed)))
	_, finished, _, untold := kept(t, l, mine)
	require.Empty(t, finished)
	require.Len(t, untold, 2)
}

// TestResultsCutOff reads what a killed program has left, wherever that ends.
func TestResultsCutOff(t *testing.T) {
	whole := &memoryLog{}
	once := wire.Once{Run: "r1", Play: 1}
	r, _, _, _ := kept(t, whole, once)
	for i := range 3 {
		require.NoError(t, r.Finish(finish(i, wire.Changed)))
	}
	require.NoError(t, r.End(true))
	for n := range len(whole.text) {
		l := &memoryLog{text: bytes.Clone(whole.text[:n])}
		r, finished, _, _ := kept(t, l, once)
		require.Len(t, finished, max(0, min(3, bytes.Count(l.text, []byte("\n"))-1)))
		require.NoError(t, r.Finish(finish(7, wire.Changed)))
		_, again, _, _ := kept(t, l, once)
		require.Len(t, again, len(finished)+1, "what is added stands on a line of its own")
	}
}

func TestResultsThatCannotBeKept(t *testing.T) {
	disk := errors.New("disk full")
	r := &Results{}
	require.ErrorIs(t, r.Open(&memoryLog{err: disk}), disk)
	require.NoError(t, r.Finish(finish(0, wire.Changed)), "then nothing is kept")
	for text, want := range map[string]string{
		"{}\n": "what earlier runs have left there cannot be read: what earlier runs have left there has no beginning",
		"x\n":  "what earlier runs have left there cannot be read: invalid character 'x' looking for beginning of value",
		`{"begin":{"format":2,"run":"r9"}}` + "\n": `what earlier runs have left there cannot be read: a newer ccm-push has left results of run "r9" there, in format 2, and they are left alone`,
	} {
		l := &memoryLog{text: []byte(text)}
		require.EqualError(t, r.Open(l), want)
		require.Equal(t, text, string(l.text))
	}
	l := &memoryLog{}
	r, _, _, _ = kept(t, l, wire.Once{Run: "r1", Play: 1})
	l.err = disk
	require.ErrorIs(t, r.Finish(finish(0, wire.Changed)), disk)
	l.err = nil
	require.NoError(t, r.Finish(finish(1, wire.Changed)))
	require.Empty(t, l.text, "a gap would be taken for what has not been done")
	r, _, _, _ = kept(t, l, wire.Once{Run: "r1", Play: 1})
	require.NoError(t, r.Finish(finish(0, wire.Stable)))
	l.err = disk
	require.ErrorIs(t, r.Flush(), disk)
	require.ErrorIs(t, r.Finish(finish(1, wire.Changed)), disk, "it is said at a resource")
	require.NoError(t, r.Finish(finish(2, wire.Changed)), "once")
	l.err = nil
	big := finish(2, wire.Changed)
	big.Result.Diff = strings.Repeat("x", maxResults)
	r, _, _, _ = kept(t, l, wire.Once{Run: "r1", Play: 1})
	require.NoError(t, r.Finish(big))
	require.NoError(t, r.Flush())
	require.Less(t, len(l.text), 1000)
}

// FuzzResults opens whatever stands there: what can be opened can be gone on with.
func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"begin":{"format":1,"run":"r1","play":1,"hash":"hash"}}` + "\n" + `{"finished":{"result":{"i":0},"type":"file","name":"/a"}}` + "\n{\"end\":true}\n"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &memoryLog{text: text}
		r := &Results{}
		if r.Open(l) != nil {
			return
		}
		finished, _, err := r.Begin(wire.Once{Run: "r1", Play: 1}, "hash", "ann", since)
		require.NoError(t, err)
		for _, u := range r.Untold() {
			require.NoError(t, r.Acknowledge(wire.Ack{Run: u.Run, Play: u.Play}))
		}
		require.NoError(t, r.Finish(finish(1<<20, wire.Changed)))
		again := &Results{}
		require.NoError(t, again.Open(l))
		more, _, err := again.Begin(wire.Once{Run: "r1", Play: 1}, "hash", "ann", since)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(more), len(finished))
	})
}
