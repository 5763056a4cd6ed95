package system

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ccm-push")
	synctest.Test(t, func(t *testing.T) {
		first := wire.Lock{Holder: "ann@laptop", Run: "r1"}
		unlock, err := lock(t.Context(), first, dir, "h.lock", nil)
		require.NoError(t, err)
		time.Sleep(3*time.Minute + 12*time.Second)

		_, err = lock(t.Context(), wire.Lock{Holder: "bob@desk", Run: "r2"}, dir, "h.lock", nil)
		require.EqualError(t, err, "another run is in progress on this host: ann@laptop, run r1, for 3m14s")
		require.ErrorIs(t, err, wire.ErrLocked)
		require.Equal(t, &LockedError{Holder: "ann@laptop", Run: "r1", Age: 194 * time.Second, pid: os.Getpid(), origin: "r1"}, err)

		_, err = lock(t.Context(), wire.Lock{Wait: time.Minute}, dir, "h.lock", nil)
		require.EqualError(t, err, "another run is in progress on this host: ann@laptop, run r1, for 4m14s")

		other, err := lock(t.Context(), first, dir, "another-host.lock", nil)
		require.NoError(t, err)
		other()

		unlock()
		unlock, err = lock(t.Context(), wire.Lock{Holder: "bob@desk", Run: "r2"}, dir, "h.lock", nil)
		require.NoError(t, err)
		unlock()
	})
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())
	text, err := os.ReadFile(filepath.Join(dir, "h.lock"))
	require.NoError(t, err)
	require.Empty(t, text)
}

func TestLockWaits(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	synctest.Test(t, func(t *testing.T) {
		unlock, err := lock(t.Context(), wire.Lock{}, dir, "l", nil)
		require.NoError(t, err)
		taken := make(chan error, 1)
		go func() {
			unlock, err := lock(t.Context(), wire.Lock{Holder: "bob", Wait: time.Hour}, dir, "l", nil)
			if err == nil {
				unlock()
			}
			taken <- err
		}()
		time.Sleep(time.Minute)
		unlock()
		require.NoError(t, <-taken)
	})
}

func TestLockCancelled(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	unlock, err := lock(t.Context(), wire.Lock{}, dir, "l", nil)
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lock(ctx, wire.Lock{Wait: time.Hour}, dir, "l", nil)
	require.EqualError(t, err, "taking the lock: context canceled")
}

func TestLockOfAnUnknownHolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	unlock, err := lock(t.Context(), wire.Lock{}, dir, "l", nil)
	require.NoError(t, err)
	defer unlock()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "l"), []byte("{"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err = lock(t.Context(), wire.Lock{}, dir, "l", nil)
		require.EqualError(t, err, "another run is in progress on this host")
		require.Equal(t, lockMoment, time.Since(began))
	})
}

// TestLockWhenTheClockJumps has the clock of the host be set back and forth while a run holds
// the lock: it is held, and its age is no less than nothing.
func TestLockWhenTheClockJumps(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	unlock, err := lock(t.Context(), wire.Lock{Holder: "ann", Run: "r1"}, dir, "l", nil)
	require.NoError(t, err)
	defer unlock()
	for jump, age := range map[time.Duration]string{24 * time.Hour: "24h0m0s", -24 * time.Hour: "0s"} {
		text, err := json.Marshal(holder{Holder: "ann", Run: "r1", Since: time.Now().Add(-jump)})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "l"), append(text, '\n'), 0o600))
		file, err := os.Open(filepath.Join(dir, "l"))
		require.NoError(t, err)
		err = acquire(t.Context(), file, wire.Lock{})
		require.ErrorIs(t, err, wire.ErrLocked)
		require.Contains(t, err.Error(), "run r1, for "+age)
		require.NoError(t, file.Close())
	}
}

// TestLockForAMoment uses holders that release the lock after a moment: a check run that reads kept results, and a run
// that has just ended. A run without a wait for other runs succeeds, too. Another check run does not wait for an
// applying run.
func TestLockForAMoment(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	synctest.Test(t, func(t *testing.T) {
		check, err := lock(t.Context(), wire.Lock{}, dir, "l", nil)
		require.NoError(t, err)
		time.AfterFunc(lockMoment/2, check)
		apply, err := lock(t.Context(), wire.Lock{Holder: "bob@desk", Run: "r1"}, dir, "l", nil)
		require.NoError(t, err)
		began := time.Now()
		_, err = lock(t.Context(), wire.Lock{}, dir, "l", nil)
		require.ErrorIs(t, err, wire.ErrLocked)
		require.Zero(t, time.Since(began))
		time.AfterFunc(lockMoment/2, apply)
		next, err := lock(t.Context(), wire.Lock{Holder: "bob@desk", Run: "r2"}, dir, "l", nil)
		require.NoError(t, err)
		next()
	})
}

// TestLockOfARunThatIsResumed has a run find the program of one that it resumes, or the other way round: it waits for
// the program, or the late run is refused.
func TestLockOfARunThatIsResumed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	first := wire.Lock{Holder: "ann", Run: "r1", Again: true}
	second := wire.Lock{Holder: "bob", Run: "r2", First: "r1", Epoch: 1, Again: true}
	third := wire.Lock{Holder: "eve", Run: "r3", First: "r1", Epoch: 2, Again: true}
	other := wire.Lock{Holder: "joe", Run: "r4", First: "r0", Epoch: 9, Again: true}
	for _, tt := range []struct {
		holds, comes wire.Lock
		waits        bool
	}{
		{first, second, true}, {second, third, true}, {first, third, true}, {second, second, true},
		{second, first, false}, {third, second, false}, {first, other, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			unlock, err := lock(t.Context(), tt.holds, dir, "l", nil)
			require.NoError(t, err)
			text, err := json.Marshal(holder{Holder: tt.holds.Holder, Run: tt.holds.Run, First: tt.holds.First, Epoch: tt.holds.Epoch}) // no process to signal
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "l"), append(text, '\n'), 0o600))
			time.AfterFunc(time.Hour, unlock)
			again, err := lock(t.Context(), tt.comes, dir, "l", nil)
			if !tt.waits {
				require.ErrorContains(t, err, "another run is in progress on this host: "+tt.holds.Holder)
				time.Sleep(2 * time.Hour)
				return
			}
			require.NoError(t, err)
			again()
		})
	}
}

func TestLockDirectory(t *testing.T) {
	base := t.TempDir()
	open := filepath.Join(base, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o777))
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	_, err := lock(t.Context(), wire.Lock{}, open, "l", nil)
	require.EqualError(t, err, "opening the lock: "+open+" has mode 0777: others can write to it; run on the host: chmod go-w "+open)
	_, err = lock(t.Context(), wire.Lock{}, link, "l", nil)
	require.EqualError(t, err, "opening the lock: check "+link+": not a directory")
	private := filepath.Join(base, "private")
	require.NoError(t, os.Mkdir(private, 0o700))
	require.NoError(t, os.Symlink("/dev/null", filepath.Join(private, "l")))
	_, err = lock(t.Context(), wire.Lock{}, private, "l", nil)
	require.Error(t, err)
}

func TestHolderIsJSON(t *testing.T) {
	text, err := json.Marshal(holder{Holder: "ann", Run: "r1", Since: time.Unix(0, 0).UTC(), Boot: "b"})
	require.NoError(t, err)
	require.JSONEq(t, `{"holder":"ann","run":"r1","since":"1970-01-01T00:00:00Z","boot":"b","pid":0}`, string(text))
}

// TestLookAtTheLock holds that the lock can be seen without keeping others from it.
func TestLookAtTheLock(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	r := &RunLock{dir: filepath.Join(dir, "none"), name: "l"}
	_, held, turn, err := r.Look()
	require.NoError(t, err)
	require.False(t, held)
	require.Empty(t, turn)
	require.NoDirExists(t, r.dir)

	r.dir = dir
	_, held, turn, err = r.Look()
	require.NoError(t, err)
	require.False(t, held)
	require.Empty(t, turn)
	require.NoFileExists(t, filepath.Join(dir, "l"))

	by := wire.Lock{Holder: "ann@laptop", Run: "r1"}
	unlock, err := lock(t.Context(), by, dir, "l", nil)
	require.NoError(t, err)
	seen, held, first, err := r.Look()
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, by, seen)
	require.NotEmpty(t, first)
	_, _, again, err := r.Look()
	require.NoError(t, err)
	require.Equal(t, first, again)
	unlock()
	_, held, free, err := r.Look()
	require.NoError(t, err)
	require.False(t, held)
	require.NotEqual(t, first, free)

	// A dead holder holds nothing, although the file still has its name.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "l"), []byte(`{"holder":"ann@laptop","run":"r1"}`+"\n"), 0o600))
	_, held, _, err = r.Look()
	require.NoError(t, err)
	require.False(t, held)
	unlock, err = lock(t.Context(), by, dir, "l", nil)
	require.NoError(t, err)
	unlock()
}
