package activity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// busy returns a run with a number of hosts; the named hosts are in progress.
func busy(hosts int, names ...string) *Tracker {
	t := &Tracker{}
	t.Begin(hosts, false)
	for _, name := range names {
		h := t.Host(name)
		h.Work()
		h.AtResource("exec", "migrate")
	}
	return t
}

// pause lets some time pass, in which the lines are drawn.
func pause(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLiveIsGoneWithoutATrace(t *testing.T) {
	for _, size := range [][2]int{{20, 3}, {60, 24}, {200, 50}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScreen(t, size[0], size[1])
			l := NewLive(s.terminal(), busy(40, "web1", "s002", "db1", "web4").Snapshot, nil)
			var want strings.Builder
			for i := range 30 {
				line := fmt.Sprintf("web%d  changed  file#/etc/motd with 界 and more than twenty columns\n", i)
				want.WriteString(line)
				fmt.Fprint(l, line)
				pause(333 * time.Millisecond)
				if i < 2 {
					continue
				}
				below := s.below()
				require.Len(t, below, min(4, size[1]-1))
				require.True(t, strings.HasPrefix(below[len(below)-1], "0/40 done · 4 runn"), below)
			}
			require.NoError(t, l.Close(t.Context()))
			require.Equal(t, want.String(), s.text())
			fmt.Fprint(l, "behind\n")
			require.Equal(t, want.String()+"behind\n", s.text())
		})
	}
}

// TestShortRuns draws nothing for a run that ends at once.
func TestShortRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 80, 24)
		l := NewLive(s.terminal(), busy(1, "web1").Snapshot, nil)
		pause(400 * time.Millisecond)
		require.Zero(t, s.writes)
		fmt.Fprint(l, "web1: 1 changed\n")
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, 1, s.writes)
		require.Equal(t, "web1: 1 changed\n", s.text())
	})
}

// TestNothingBeforeTheRun leaves the terminal to prompts for passwords.
func TestNothingBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 80, 24)
		tracker := &Tracker{}
		l := NewLive(s.terminal(), tracker.Snapshot, nil)
		pause(time.Hour)
		require.Zero(t, s.writes)
		tracker.Begin(1, false)
		pause(time.Second)
		require.Equal(t, []string{"0/1 done · 1 waiting"}, s.below())
		require.NoError(t, l.Close(t.Context()))
		require.Empty(t, s.text())
	})
}

// TestLiveOnAnyScreen prints, resizes and waits at random: all printed text is there.
func TestLiveOnAnyScreen(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			s := newScreen(t, 80, 24)
			s.reflow = seed%2 == 0
			tracker := busy(9, "web1", "\x1b[2J\u202eweb2\n", strings.Repeat("界", 50), "x\u0301\u200d👩‍👩‍👧")
			l := NewLive(s.terminal(), tracker.Snapshot, nil)
			var want strings.Builder
			for n := range 40 {
				switch r.IntN(6) {
				case 0:
					if rows := 1 + r.IntN(40); rows > maxRows {
						s.resize(10+r.IntN(200), rows) // perhaps while it is being drawn
					} else {
						synctest.Wait()
						s.resize(10+r.IntN(200), rows)
					}
				case 1:
					tracker.Host(fmt.Sprint("more", n)).Work()
				case 2:
					fmt.Fprintf(l, "%d\n\n", n)
					fmt.Fprintf(&want, "%d\n\n", n)
				case 3:
					for i := range r.IntN(60) {
						fmt.Fprintf(l, "l %d\n", i)
						fmt.Fprintf(&want, "l %d\n", i)
					}
				default:
					pause(time.Duration(r.IntN(1000)) * time.Millisecond)
				}
			}
			require.NoError(t, l.Close(t.Context()))
			require.Equal(t, want.String(), s.text(), "seed %d", seed)
		})
	}
}

// TestNarrowerThanItSays is about a terminal that becomes narrower while it is drawn, or that
// has another idea of how wide a character is.
func TestNarrowerThanItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 20, 24)
		l := NewLive(Terminal{Writer: s, Size: func() (int, int) { return 60, 24 }}, busy(3, "web1", "web2").Snapshot, nil)
		fmt.Fprint(l, "one\n")
		pause(2 * time.Second)
		require.Equal(t, []string{"  web1  exec#migrate", "  web2  exec#migrate", "0/3 done · 2 running"}, s.below())
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, "one\n", s.text())
	})
}

// TestUnfinishedLines draws nothing after a line without an end.
func TestUnfinishedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 80, 24)
		l := NewLive(s.terminal(), busy(1, "web1").Snapshot, nil)
		pause(time.Second)
		fmt.Fprint(l, "one ")
		pause(time.Second)
		require.Equal(t, "one ", s.text())
		fmt.Fprint(l, "line\n")
		pause(time.Second)
		require.Equal(t, "one line\n0/1 done · web1 exec#migrate 3s", s.text())
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, "one line\n", s.text())
	})
}

// TestExpectedEnd calls expected once.
func TestExpectedEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 80, 24)
		asked := 0
		l := NewLive(s.terminal(), busy(2, "web1").Snapshot, func(hosts int) time.Duration {
			asked += hosts
			return 4 * time.Second
		})
		pause(1100 * time.Millisecond)
		require.Equal(t, []string{"0/2 done · web1 exec#migrate 1s · 1 waiting · about 2s to go"}, s.below())
		pause(4 * time.Second)
		require.Equal(t, []string{"0/2 done · web1 exec#migrate 5s · 1 waiting · 5s, last time 4s"}, s.below())
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, 2, asked)
	})
}

// A stuck is a terminal that takes nothing until it is released.
type stuck struct {
	*screen
	release chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.screen.Write(p)
}

// TestAStuckTerminal does not delay writers; only Close waits for it, and not if ctx has ended.
func TestAStuckTerminal(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := stuck{newScreen(t, 80, 24), make(chan struct{})}
			l := NewLive(Terminal{Writer: s, Size: s.Size}, busy(3, "web1", "web2").Snapshot, nil)
			var want strings.Builder
			for i := range 1000 {
				n, err := fmt.Fprintf(l, "line %d\n", i)
				require.NoError(t, err)
				require.NotZero(t, n)
				fmt.Fprintf(&want, "line %d\n", i)
				pause(10 * time.Millisecond)
			}
			ctx, kill := context.WithCancel(t.Context())
			closed := make(chan error, 1)
			go func() { closed <- l.Close(ctx) }()
			pause(time.Hour)
			require.Empty(t, closed)
			if killed {
				killed := time.Now()
				kill()
				require.ErrorIs(t, <-closed, context.Canceled)
				require.Equal(t, lastWait, time.Since(killed))
			}
			close(s.release)
			if !killed {
				require.NoError(t, <-closed)
			}
			synctest.Wait()
			require.Equal(t, want.String(), s.text())
			kill()
		})
	}
}

// TestTextIsBounded delays writers when too much text waits for a stuck terminal.
func TestTextIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{newScreen(t, 80, 24), make(chan struct{})}
		l := NewLive(Terminal{Writer: s, Size: s.Size}, busy(1, "web1").Snapshot, nil)
		fmt.Fprint(l, "x\n")
		synctest.Wait() // the terminal has it
		fmt.Fprint(l, strings.Repeat("x", maxPending-2)+"\n")
		more := make(chan struct{})
		go func() {
			fmt.Fprint(l, "more\n")
			close(more)
		}()
		pause(time.Hour)
		select {
		case <-more:
			t.Error("nobody waits")
		default:
		}
		close(s.release)
		<-more
		require.NoError(t, l.Close(t.Context()))
		require.True(t, strings.HasSuffix(s.text(), "x\nmore\n"))
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestABrokenTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(Terminal{Writer: broken{}, Size: func() (int, int) { return 80, 24 }}, busy(1, "web1").Snapshot, nil)
		fmt.Fprint(l, "x\n")
		synctest.Wait()
		_, err := fmt.Fprint(l, "y\n")
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorIs(t, l.Close(t.Context()), syscall.ENOSPC)
	})
}

// TestStopAndGoOn is Ctrl-Z: the lines are removed before the program stops, and text that the shell prints meanwhile
// stays.
func TestStopAndGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 80, 24)
		stopping, continued := make(chan os.Signal), make(chan os.Signal)
		terminal := s.terminal()
		terminal.Stopping, terminal.Continued = stopping, continued
		terminal.Stop = func() {
			require.Equal(t, "one\n", s.text())
			fmt.Fprint(s, "[1]+ Stopped\n$ fg\n")
		}
		l := NewLive(terminal, busy(3, "web1", "web2").Snapshot, nil)
		fmt.Fprint(l, "one\n")
		pause(time.Second)
		require.Len(t, s.below(), 3)
		stopping <- syscall.SIGTSTP
		pause(time.Second)
		fmt.Fprint(s, "\x1b[J"+"stopped by SIGSTOP\n") // as if from elsewhere, over the lines
		continued <- syscall.SIGCONT
		pause(time.Second)
		require.Len(t, s.below(), 3)
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, "one\n[1]+ Stopped\n$ fg\nstopped by SIGSTOP\n", s.text())
	})
}

// TestManyPrint is for the race detector.
func TestManyPrint(t *testing.T) {
	s := newScreen(t, 80, 24)
	tracker := busy(100)
	l := NewLive(s.terminal(), tracker.Snapshot, nil)
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			h := tracker.Host(fmt.Sprint("web", i))
			h.Work()
			h.Waits(func() bool { return true })
			for range 100 {
				h.AtResource("exec", "a")
				fmt.Fprintf(l, "web%d\n", i)
				h.Came(true, false)
			}
			h.Done()
		})
	}
	work.Wait()
	require.NoError(t, l.Close(t.Context()))
	require.Equal(t, 2000, strings.Count(s.text(), "\n"))
	require.Equal(t, 20, tracker.Snapshot().Done)
}

// lateReader is a writer without a reader.
type lateReader struct{ waits chan struct{} }

func (l lateReader) Write(p []byte) (int, error) {
	<-l.waits
	return 0, errors.New("nobody reads")
}

func TestPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lockedBuilder
		tracker := &Tracker{}
		p := NewPlain(&b, tracker.Snapshot)
		pause(time.Hour) // a person is prompted for a password
		tracker.Begin(40, false)
		h := tracker.Host("s002")
		h.Work()
		pause(29 * time.Second)
		require.Empty(t, b.String())
		h.AtResource("exec", "migrate\x1b[2J")
		failed := tracker.Host("web1")
		failed.Lost(false)
		failed.Done()
		pause(2 * time.Second)
		require.Equal(t, "ccm-push: 1/40 hosts done, 1 failed; slowest: s002 exec#migrate\\x1b[2J 1s\n", b.String())
		pause(60 * time.Second)
		require.Equal(t, 3, strings.Count(b.String(), "\n"), b.String())
		h.Rest()
		tracker.Watching(Watch{Watched: 39, Unwatched: 1})
		pause(30 * time.Second)
		require.Contains(t, b.String(), "ccm-push: hosts: 39 watched, 1 unwatched\n")
		pause(50 * time.Minute)
		require.Equal(t, 4, strings.Count(b.String(), "\n"), "nothing has changed")
		pause(20 * time.Minute)
		require.Equal(t, 5, strings.Count(b.String(), "\n"))
		p.Close()
	})
}

// TestPlainGroups reports the end of 500 hosts in about ten lines.
func TestPlainGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lockedBuilder
		tracker := &Tracker{}
		p := NewPlain(&b, tracker.Snapshot)
		tracker.Begin(500, false)
		for i := range 500 {
			h := tracker.Host(fmt.Sprintf("web%03d", i+1))
			h.Work()
			switch {
			case i == 170:
				h.Lost(false)
			case i == 180 || i == 183:
				h.Lost(true)
			case i%10 == 0:
				h.Came(true, false)
			}
			h.Done()
			if i == 95 {
				require.Empty(t, b.String(), "short runs say nothing of it")
			}
			if i%10 == 9 {
				pause(time.Second)
			}
		}
		pause(time.Minute)
		p.Close()
		lines := strings.Split(b.String(), "\n")
		require.Equal(t, []string{
			"ccm-push: web[001-100] done (100), 10 changed",
			"ccm-push: web[101-150] done (50), 5 changed",
			"ccm-push: web[151-170,172-180,182-183,185-200] done (47), 3 changed; web171 failed; web[181,184] unreachable (2)",
		}, lines[:3])
		require.LessOrEqual(t, len(lines), 12, b.String()) // with signs of life and the end
		require.NotContains(t, b.String(), "web500", "the recap follows")
	})
}

// TestPlainOfFewHosts names each host that ends while others continue.
func TestPlainOfFewHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lockedBuilder
		tracker := busy(3, "a", "b", "c")
		p := NewPlain(&b, tracker.Snapshot)
		db := tracker.Host("db1\x1b[2J")
		pause(11 * time.Second)
		db.Came(false, true)
		db.Done()
		pause(2 * time.Second)
		tracker.Host("a").Done()
		tracker.Host("b").Done()
		pause(2 * time.Second)
		p.Close()
		require.Equal(t, "ccm-push: db1\\x1b[2J failed\n", b.String())
	})
}

// TestPlainThatNobodyReads does not hold up the end.
func TestPlainThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lateReader{make(chan struct{})}
		p := NewPlain(w, busy(1, "web1").Snapshot)
		pause(time.Minute)
		ends := time.Now()
		p.Close()
		require.Equal(t, lastWait, time.Since(ends))
		close(w.waits)
	})
}

type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
