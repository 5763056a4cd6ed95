package confirm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// newFiles returns files in a directory of their own.
func newFiles(t *testing.T) (*Files, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dir")
	return &Files{
		Open: func(create bool) (*os.Root, error) {
			if create {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return nil, err
				}
			}
			return os.OpenRoot(dir)
		},
		Prefix:  "host.",
		SyncDir: func(*os.Root) error { return nil },
	}, dir
}

func stateOf(nonce string) *State {
	return &State{Holder: "ann@laptop", Run: "r1", Play: 1, ID: ID(nonce), First: 3, Start: "boot 1", Until: time.Minute, Within: time.Minute}
}

func TestStates(t *testing.T) {
	f, dir := newFiles(t)
	s, p, err := f.Pending()
	require.NoError(t, err)
	require.Nil(t, s)
	require.Empty(t, p)
	want := stateOf("nonce")
	require.NoError(t, f.Arm(want))
	s, p, err = f.Pending()
	require.NoError(t, err)
	require.Equal(t, want, s)
	require.Equal(t, Armed, p)
	name := filepath.Join(dir, "host.confirm-"+want.ID+".armed")
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NotContains(t, string(text), "nonce", "who reads it cannot confirm")

	won, err := f.Verdict(ID("another"), Confirmed)
	require.NoError(t, err)
	require.False(t, won)
	won, err = f.Verdict(want.ID, Confirmed)
	require.NoError(t, err)
	require.True(t, won)
	won, err = f.Verdict(want.ID, Reverting)
	require.NoError(t, err)
	require.False(t, won, "there is a verdict")
	phase, err := f.Phase(want.ID)
	require.NoError(t, err)
	require.Equal(t, Confirmed, phase)
	s, _, err = f.Pending()
	require.NoError(t, err)
	require.Nil(t, s)

	require.NoError(t, f.Arm(want), "by another stage of the same play")
	phase, err = f.Phase(want.ID)
	require.NoError(t, err)
	require.Equal(t, Armed, phase)
	_, err = f.Verdict(want.ID, Reverting)
	require.NoError(t, err)
	r := wire.Reverted{Run: "r1", Play: 1, Why: "nobody confirmed it", Results: []wire.UntoldResult{{Type: "file", Name: "/a", Status: wire.Changed}}}
	require.NoError(t, f.Reverted(want, r))
	phase, err = f.Phase(want.ID)
	require.NoError(t, err)
	require.Empty(t, phase)
	of, err := f.Of(want.ID)
	require.NoError(t, err)
	require.Equal(t, &r, of)
	require.NoError(t, f.Acknowledge("r1", 2))
	all, err := f.Untold()
	require.NoError(t, err)
	require.Equal(t, []*wire.Reverted{&r}, all, "another play is acknowledged")
	require.NoError(t, f.Acknowledge("r1", 1))
	all, err = f.Untold()
	require.NoError(t, err)
	require.Empty(t, all)
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, names)
}

// TestOneVerdict confirms and reverts concurrently, again and again: one of them wins, and all see its verdict from
// then on.
func TestOneVerdict(t *testing.T) {
	f, _ := newFiles(t)
	for round := range 50 {
		s := stateOf(fmt.Sprint("nonce", round))
		require.NoError(t, f.Arm(s))
		var wins [2][20]bool
		begin := make(chan struct{})
		var work sync.WaitGroup
		for i, p := range []Phase{Confirmed, Reverting} {
			for n := range wins[i] {
				work.Go(func() {
					<-begin
					won, err := f.Verdict(s.ID, p)
					wins[i][n] = won && err == nil
				})
			}
		}
		close(begin)
		work.Wait()
		count := func(all [20]bool) (n int) {
			for _, won := range all {
				if won {
					n++
				}
			}
			return n
		}
		confirmed, reverting := count(wins[0]), count(wins[1])
		require.Equal(t, 1, confirmed+reverting)
		p, err := f.Phase(s.ID)
		require.NoError(t, err)
		require.Equal(t, map[bool]Phase{true: Confirmed, false: Reverting}[confirmed == 1], p)
		if p == Reverting {
			require.NoError(t, f.Reverted(s, wire.Reverted{Run: s.Run, Play: s.Play}))
		}
		require.NoError(t, f.Forget(""))
	}
}

// TestDeathBetweenSteps kills each operation on the files between any two steps. The state is then the one before or
// the one after it, and the next operation completes it.
func TestDeathBetweenSteps(t *testing.T) {
	died := errors.New("killed here")
	for _, test := range []struct {
		name   string
		before func(f *Files, s *State) error
		do     func(f *Files, s *State) error
		may    []Phase // afterwards
	}{
		{"arming", func(*Files, *State) error { return nil }, func(f *Files, s *State) error { return f.Arm(s) }, []Phase{"", Armed}},
		{
			"confirming", func(f *Files, s *State) error { return f.Arm(s) },
			func(f *Files, s *State) error { _, err := f.Verdict(s.ID, Confirmed); return err }, []Phase{Armed, Confirmed},
		},
		{
			"reverting", func(f *Files, s *State) error { return f.Arm(s) },
			func(f *Files, s *State) error { _, err := f.Verdict(s.ID, Reverting); return err }, []Phase{Armed, Reverting},
		},
		{
			"noting", func(f *Files, s *State) error {
				err := f.Arm(s)
				_, verdictErr := f.Verdict(s.ID, Reverting)
				return errors.Join(err, verdictErr)
			},
			func(f *Files, s *State) error { return f.Reverted(s, wire.Reverted{Run: s.Run, Play: s.Play}) }, []Phase{Reverting},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var steps []string
			f, _ := newFiles(t)
			require.NoError(t, test.before(f, stateOf("nonce")))
			f.Die = func(step string) { steps = append(steps, step) }
			require.NoError(t, test.do(f, stateOf("nonce")))
			require.NotEmpty(t, steps)
			for n := range steps {
				f, _ := newFiles(t)
				s := stateOf("nonce")
				require.NoError(t, test.before(f, s))
				seen := 0
				f.Die = func(string) {
					if seen++; seen == n+1 {
						panic(died)
					}
				}
				require.PanicsWithValue(t, died, func() { _ = test.do(f, s) }, steps[n])
				f.Die = nil
				p, err := f.Phase(s.ID)
				require.NoError(t, err)
				require.Contains(t, test.may, p, steps[n])
				pending, _, err := f.Pending()
				require.NoError(t, err)
				require.Equal(t, p == Armed || p == Reverting, pending != nil, steps[n])
				if pending != nil {
					require.Equal(t, s, pending)
				}
				require.NoError(t, test.do(f, s), "who comes next does it again")
			}
		})
	}
}

// TestDeadline counts from the start of the host, on a clock that the test moves.
func TestDeadline(t *testing.T) {
	f, dir := newFiles(t)
	now := 10 * time.Minute
	clock := Clock{Since: func() time.Duration { return now }, Start: "boot 1"}
	s := stateOf("nonce")
	s.Until = now + s.Within
	require.NoError(t, f.Arm(s))
	require.Equal(t, time.Minute, f.Left(s, clock))
	now += 59 * time.Second
	require.Equal(t, time.Second, f.Left(s, clock))
	require.NoError(t, f.Push(s.ID, now+s.Within))
	require.Equal(t, time.Minute, f.Left(s, clock), "there was progress")
	require.NoError(t, f.Push(ID("another"), now+time.Hour))
	require.Equal(t, time.Second, f.Left(s, clock), "that was not about this one")
	require.NoError(t, f.Push(s.ID, now+time.Hour))
	require.Equal(t, time.Minute, f.Left(s, clock), "no longer than it says")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "host."+deadlineName), []byte("damaged"), 0o600))
	require.Equal(t, time.Second, f.Left(s, clock))
	now += time.Hour // the host was suspended
	require.Negative(t, f.Left(s, clock))
	now, clock.Start = time.Second, "boot 2"
	require.Zero(t, f.Left(s, clock), "the deadline of another start of the host does not count")
	require.NoError(t, f.Arm(stateOf("nonce")))
	clock.Start = "boot 1"
	require.Equal(t, 59*time.Second, f.Left(stateOf("nonce"), clock), "what an earlier stage has pushed is forgotten")
}

// TestDamagedState does not treat an unreadable state as none.
func TestDamagedState(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "unexpected end of JSON input",
		`{"id":"somebody's"}`:           `is about "somebody's"`,
		strings.Repeat("x", maxState+1): "it is too large",
	} {
		f, dir := newFiles(t)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "host.confirm-abc.armed"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "host."+currentName), []byte("abc"), 0o600))
		_, _, err := f.Pending()
		require.ErrorContains(t, err, want)
	}
}

// TestOneWatchdog has a second one wait for the first.
func TestOneWatchdog(t *testing.T) {
	f, _ := newFiles(t)
	require.False(t, f.Watched())
	end, err := f.Watch(t.Context())
	require.NoError(t, err)
	require.True(t, f.Watched())
	second := make(chan error, 1)
	go func() {
		end, err := f.Watch(t.Context())
		if err == nil {
			end()
		}
		second <- err
	}()
	end()
	require.NoError(t, <-second)
}

// TestNoticesAreBounded keeps the newest.
func TestNoticesAreBounded(t *testing.T) {
	f, _ := newFiles(t)
	var want []string
	for i := range maxNotices + 5 {
		run := fmt.Sprint("r", i)
		require.NoError(t, f.Reverted(stateOf(run), wire.Reverted{Run: run, At: time.Unix(int64(i), 0).UTC()}))
		want = append(want, run)
	}
	all, err := f.Untold()
	require.NoError(t, err)
	var got []string
	for _, r := range all {
		got = append(got, r.Run)
	}
	require.Equal(t, want[5:], got)
}

// FuzzState reads arbitrary files of the host program's own directory.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"holder":"a","run":"r","play":1,"id":"abc","first":1,"start":"b","until":1,"within":1}`), []byte("abc 12"), []byte(`{"run":"r","play":1,"at":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{`), []byte("abc"), []byte(`{}`))
	dir := f.TempDir()
	files := &Files{Open: func(bool) (*os.Root, error) { return os.OpenRoot(dir) }, Prefix: "host."}
	f.Fuzz(func(t *testing.T, state, deadline, notices []byte) {
		for name, text := range map[string][]byte{currentName: []byte("abc"), "confirm-abc.armed": state, deadlineName: deadline, "confirm-abc" + noticeSuffix: notices} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "host."+name), text, 0o600))
		}
		if s, p, err := files.Pending(); err == nil {
			require.Equal(t, Armed, p)
			require.Equal(t, "abc", s.ID)
			require.LessOrEqual(t, files.Left(s, Clock{Since: func() time.Duration { return 0 }, Start: s.Start}), max(s.Within, 0)+1)
		}
		if all, err := files.Untold(); err == nil {
			for _, r := range all {
				require.NotNil(t, r)
			}
		}
	})
}
