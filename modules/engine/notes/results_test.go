package notes

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A memoryLog is a log in memory.
type memoryLog struct {
	text    []byte
	durable int // number of its bytes that outlive a crash
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

// kept opens a log and returns the kept results of a catalog, and the unreported results of others.
func kept(t *testing.T, l *memoryLog, once wire.Once) (r *Results, finished []*Finished, ended bool, untold []*wire.Untold) {
	t.Helper()
	r = &Results{}
	require.NoError(t, r.Open(l))
	b, err := r.Begin(once, wire.Lock{Run: once.Run, Holder: "ann@ctl"}, "hash", since)
	require.NoError(t, err)
	return r, b.Finished, b.Ended, r.Untold()
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

	// The same run continues.
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

	// Another run reports the results that were not reported, until they are acknowledged.
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
	require.Equal(t, want, untold)
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	require.NoError(t, r.End(true))
	require.True(t, AllTold(l.text))
}

// TestResultsThatAreKept has several controllers for one run: results that one of them has acknowledged stay for
// another one that comes late, and are not reported again.
func TestResultsThatAreKept(t *testing.T) {
	l := &memoryLog{}
	one, two := wire.Once{Run: "r1", Play: 1}, wire.Once{Run: "r1", Play: 2}
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

	// The next play, and then a late controller for the first one.
	r, finished, _, untold := kept(t, l, two)
	require.Empty(t, finished)
	require.Empty(t, untold)
	require.NoError(t, r.Finish(finish(0, wire.Failed)))
	require.NoError(t, r.End(true))
	r, finished, ended, untold := kept(t, l, one)
	require.Len(t, finished, 2)
	require.True(t, ended)
	require.Empty(t, untold, "the second play reports its own results")
	require.NoError(t, r.End(false))
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 2}))

	// A repeated entry is reported again, and kept for its play.
	r, _, _, _ = kept(t, l, one)
	require.NoError(t, r.Finish(finish(1, wire.Changed)))
	_, finished, ended, untold = kept(t, l, two)
	require.Len(t, finished, 1)
	require.True(t, ended)
	require.Len(t, untold, 1)
	require.Equal(t, []wire.UntoldResult{{Type: "file", Name: "/1", Status: wire.Changed, Message: "done"}}, untold[0].Results)

	// Another run reports that, and drops the rest.
	r, finished, _, untold = kept(t, l, wire.Once{Run: "r2", Play: 1})
	require.Empty(t, finished)
	require.Len(t, untold, 1)
	require.Len(t, untold[0].Results, 1)
	require.NotContains(t, string(l.text), `"play":2`)
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))
	_, finished, _, _ = kept(t, l, one)
	require.Empty(t, finished, "another run has begun since")

	// A forgotten catalog is dropped.
	r, _, _, _ = kept(t, l, one)
	require.NoError(t, r.End(true))
	require.NoError(t, r.Forget("r1", 1))
	_, finished, ended, _ = kept(t, l, one)
	require.Empty(t, finished)
	require.False(t, ended)
}

// TestResultsWhenTheClockJumps changes the clock by a day in each session of a run: it continues all the same, and
// another run gets the unreported results. TestResultsThatAreToldAreShort keeps the parts that prevent a repetition,
// once a controller has the rest.
func TestResultsThatAreToldAreShort(t *testing.T) {
	l := &memoryLog{}
	mine := wire.Once{Run: "r1", Play: 1}
	r, _, _, _ := kept(t, l, mine)
	f := finish(0, wire.Changed)
	f.Result.Exit = &modules.Exit{Stdout: modules.Output{Text: "printed"}}
	f.Result.Diff, f.Result.Changes = "-old", []modules.Change{{Property: "content", Have: "before"}}
	require.NoError(t, r.Finish(f))
	require.NoError(t, r.End(false))
	require.NoError(t, r.Acknowledge(ackOf(mine)))
	require.Contains(t, string(l.text), "printed", "a later stage may need it")
	r, _, _, _ = kept(t, l, mine)
	f = finish(1, wire.Changed)
	f.Register, f.Result.Exit = true, &modules.Exit{Stdout: modules.Output{Text: "registered"}}
	require.NoError(t, r.Finish(f))
	require.NoError(t, r.End(true))
	require.NoError(t, r.Acknowledge(ackOf(mine)))
	_, finished, ended, untold := kept(t, l, mine)
	require.Empty(t, untold)
	require.True(t, ended)
	require.Equal(t, wire.Changed, finished[0].Result.Status)
	require.Equal(t, "done", finished[0].Result.Message)
	require.Contains(t, string(l.text), "registered", "it is compiled with again")
	for _, gone := range []string{"printed", "-old", "before"} {
		require.NotContains(t, string(l.text), gone)
	}
}

func ackOf(o wire.Once) wire.Ack { return wire.Ack{Run: o.Run, Play: o.Play} }

func TestResultsWhenTheClockJumps(t *testing.T) {
	l := &memoryLog{}
	once, day := wire.Once{Run: "r1", Play: 1}, 24*time.Hour
	for i, jump := range []time.Duration{0, day, -day, 2 * day} {
		r := &Results{}
		require.NoError(t, r.Open(l))
		b, err := r.Begin(once, wire.Lock{Run: once.Run, Holder: "ann@ctl"}, "hash", since.Add(jump))
		require.NoError(t, err)
		require.Len(t, b.Finished, i)
		require.False(t, b.Ended)
		require.Empty(t, r.Untold())
		require.NoError(t, r.Finish(finish(i, wire.Changed)))
	}
	r := &Results{}
	require.NoError(t, r.Open(l))
	_, err := r.Begin(wire.Once{Run: "r2", Play: 1}, wire.Lock{Run: "r2", Holder: "ann@ctl"}, "hash", since.Add(-day))
	require.NoError(t, err)
	require.Len(t, r.Untold(), 1)
	require.Len(t, r.Untold()[0].Results, 4)
	require.Equal(t, since, r.Untold()[0].Since)
}

// TestResultsInBetween lets another run apply while one has lost its connection: everything is checked again, and
// earlier changes are reported.
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
		"{}\n": "the results of earlier runs cannot be read: the results of earlier runs have no first line",
		"x\n":  "the results of earlier runs cannot be read: invalid character 'x' looking for beginning of value",
		`{"begin":{"format":2,"run":"r9"}}` + "\n": `the results of earlier runs cannot be read: a newer ccm-push has written results of run "r9" in format 2, so they are not changed`,
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

// TestUntoldOfLaterPlays resumes a run that was in its second play on this host: the results of that play are not
// reported as untold with the first play, since the run reports them as its own. Any other run reports them.
func TestUntoldOfLaterPlays(t *testing.T) {
	l := &memoryLog{}
	for play := 1; play <= 2; play++ {
		r, _, _, _ := kept(t, l, wire.Once{Run: "r1", Play: play})
		require.NoError(t, r.Finish(finish(0, wire.Changed)))
		require.NoError(t, r.End(true))
	}
	untold := func(text []byte, play int, lock wire.Lock, hash string) (plays []int) {
		r := &Results{}
		require.NoError(t, r.Open(&memoryLog{text: bytes.Clone(text)}))
		_, err := r.Begin(wire.Once{Run: lock.Run, Play: play}, lock, hash, since)
		require.NoError(t, err)
		for _, u := range r.Untold() {
			plays = append(plays, u.Play)
		}
		return plays
	}
	resumed := wire.Lock{Run: "r2", First: "r1", Epoch: 1}
	require.Empty(t, untold(l.text, 1, resumed, "hash"))
	require.Empty(t, untold(l.text, 1+8*wire.MaxPlays, wire.Lock{Run: "r2", First: "r1", Epoch: 1}, "hash")[1:], "a part of a rollout")
	require.Equal(t, []int{1}, untold(l.text, 2, resumed, "hash"), "the first play is not continued")
	require.Equal(t, []int{1, 2}, untold(l.text, 2, resumed, "other"), "the play has changed")
	require.Equal(t, []int{1, 2}, untold(l.text, 1, wire.Lock{Run: "r9"}, "hash"), "another run")
}

// TestUntoldOfAnotherHost has a host run a resource for another host of the same run: its own results wait for the run
// to continue there. The host that ran a resource reports its result.
func TestUntoldOfAnotherHost(t *testing.T) {
	l := &memoryLog{}
	r, _, _, _ := kept(t, l, wire.Once{Run: "r1", Play: 1})
	require.NoError(t, r.Finish(finish(0, wire.Changed)))
	there := finish(1, wire.Changed)
	there.Elsewhere = true
	require.NoError(t, r.Finish(there))
	require.NoError(t, r.End(false))
	_, _, _, untold := kept(t, &memoryLog{text: bytes.Clone(l.text)}, wire.Once{Run: "r1", Play: 1, For: "web2 0"})
	require.Empty(t, untold)
	_, _, _, untold = kept(t, l, wire.Once{Run: "r9", Play: 1})
	require.Len(t, untold, 1)
	require.Equal(t, []wire.UntoldResult{{Type: "file", Name: "/0", Status: wire.Changed, Message: "done"}}, untold[0].Results)
}

// FuzzResults opens arbitrary logs: a log that can be opened can be continued.
func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"begin":{"format":1,"run":"r1","play":1,"hash":"hash"}}` + "\n" + `{"finished":{"result":{"i":0},"type":"file","name":"/a"}}` + "\n{\"end\":true}\n"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &memoryLog{text: text}
		r := &Results{}
		if r.Open(l) != nil {
			return
		}
		before, err := r.Begin(wire.Once{Run: "r1", Play: 1}, wire.Lock{Run: "r1"}, "hash", since)
		require.NoError(t, err)
		for _, u := range r.Untold() {
			require.NoError(t, r.Acknowledge(wire.Ack{Run: u.Run, Play: u.Play}))
		}
		require.NoError(t, r.Finish(finish(1<<20, wire.Changed)))
		again := &Results{}
		require.NoError(t, again.Open(l))
		after, err := again.Begin(wire.Once{Run: "r1", Play: 1}, wire.Lock{Run: "r1"}, "hash", since)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(after.Finished), len(before.Finished))
	})
}

// TestResultsOfRunsThatGoOnWithEachOther resumes a run by another one, from its own notes; then the first run comes
// late.
func TestResultsOfRunsThatGoOnWithEachOther(t *testing.T) {
	l := &memoryLog{}
	once := func(run string) wire.Once { return wire.Once{Run: run, Play: 1} }
	first := wire.Lock{Run: "r1", Holder: "ann@ctl"}
	second := wire.Lock{Run: "r2", Holder: "bob@ctl", First: "r1", Epoch: 1}
	third := wire.Lock{Run: "r3", Holder: "eve@ctl", First: "r1", Epoch: 2}
	begin := func(lock wire.Lock, hash string) (*Results, Begun, error) {
		r := &Results{}
		require.NoError(t, r.Open(l))
		b, err := r.Begin(once(lock.Run), lock, hash, since)
		return r, b, err
	}
	r, b, err := begin(first, "hash")
	require.NoError(t, err)
	require.Equal(t, Begun{New: true}, b)
	for i, status := range []wire.Status{wire.Changed, wire.Failed, wire.Changed} {
		require.NoError(t, r.Finish(finish(i, status)))
	}
	require.NoError(t, r.End(true))
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r1", Play: 1}))

	r, b, err = begin(second, "hash")
	require.NoError(t, err)
	require.Equal(t, "r1", b.By)
	require.Len(t, b.Finished, 3)
	require.True(t, b.Ended)
	require.NoError(t, r.Drop([]int{1}))
	require.NoError(t, r.Flush())
	require.Empty(t, r.Untold())

	// Killed there, it continues, and so does another one.
	_, b, err = begin(second, "hash")
	require.NoError(t, err)
	require.Empty(t, b.By)
	require.False(t, b.Ended)
	require.Equal(t, []int{0, 2}, []int{b.Finished[0].Result.Index, b.Finished[1].Result.Index})
	r, b, err = begin(third, "hash")
	require.NoError(t, err)
	require.Equal(t, "r2", b.By)
	require.Len(t, b.Finished, 2)
	require.NoError(t, r.Finish(finish(1, wire.Changed)))
	require.NoError(t, r.End(true))

	// Runs that were resumed come late.
	for _, late := range []wire.Lock{first, second} {
		_, _, err = begin(late, "hash")
		require.ErrorIs(t, err, ErrResumed)
		require.EqualError(t, err, "another run has resumed this one: run r3 of eve@ctl")
	}
	_, b, err = begin(third, "hash")
	require.NoError(t, err)
	require.Len(t, b.Finished, 3)

	// With other entries it starts over, and reports unreported results.
	fourth := wire.Lock{Run: "r4", First: "r1", Epoch: 3}
	r, b, err = begin(fourth, "other")
	require.NoError(t, err)
	require.Equal(t, Begun{New: true, Changed: true}, b)
	require.Len(t, r.Untold(), 1)
	require.Equal(t, "r3", r.Untold()[0].Run)

	// Any other run has all of it forgotten.
	require.NoError(t, r.Acknowledge(wire.Ack{Run: "r3", Play: 1}))
	_, b, err = begin(wire.Lock{Run: "r5"}, "hash")
	require.NoError(t, err)
	require.Equal(t, Begun{New: true}, b)
	_, b, err = begin(third, "hash")
	require.NoError(t, err)
	require.Equal(t, Begun{New: true}, b)
}
