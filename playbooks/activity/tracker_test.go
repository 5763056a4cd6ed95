package activity

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSnapshot(t *testing.T) {
	require.Zero(t, (*Tracker)(nil).Snapshot())
	synctest.Test(t, func(t *testing.T) {
		tracker := &Tracker{}
		require.Zero(t, tracker.Snapshot())
		tracker.Begin(6, true)
		hosts := map[string]*Host{}
		for _, name := range []string{"web3", "web1", "web2", "web4"} {
			hosts[name] = tracker.Host(name)
			hosts[name].Work()
		}
		hosts["web1"].At("connecting")
		time.Sleep(2 * time.Second)
		hosts["web1"].At("connecting") // again: a new step
		hosts["web2"].At("starting the host program")
		hosts["web2"].Sent(1<<20, 2<<20)
		hosts["web4"].AtResource("exec", "a")
		hosts["web4"].Waits(func() bool { return true })
		hosts["web4"].Came(true, false)
		hosts["web4"].Came(true, true)
		hosts["web4"].Lost(false) // counted already
		time.Sleep(time.Second)
		require.Equal(t, Snapshot{
			Begun: true, Check: true, Elapsed: 3 * time.Second, Hosts: 6, Working: 4, Changed: 1, Failed: 1,
			Longest: []Working{
				{Host: "web1", What: "connecting", For: 3 * time.Second},
				{Host: "web3", What: "beginning", For: 3 * time.Second},
				{Host: "web2", What: "starting the host program", For: time.Second, Sent: 1 << 20, Size: 2 << 20},
			},
		}, tracker.Snapshot())

		unpin := hosts["web3"].Pin("reconnecting")
		hosts["web3"].At("connecting")
		hosts["web1"].Lost(true)
		hosts["web1"].Done()
		hosts["web2"].Rest()
		require.Equal(t, Snapshot{
			Begun: true, Check: true, Elapsed: 3 * time.Second, Hosts: 6, Working: 2, Done: 1, Changed: 1, Failed: 1, Unreachable: 1,
			Longest: []Working{{Host: "web4", What: "exec", Resource: "a", For: time.Second, Waits: true}, {Host: "web3", What: "reconnecting"}},
			Ended:   []Ended{{Host: "web1", State: EndedUnreachable}},
		}, tracker.Snapshot())
		unpin()
		hosts["web3"].At("compiling")
		require.Equal(t, "compiling", tracker.Snapshot().Longest[1].What)
	})
}

// TestNilTracker uses the tracker of a run without a display.
func TestNilTracker(t *testing.T) {
	var tracker *Tracker
	tracker.Begin(1, false)
	h := tracker.Host("web1")
	h.Work()
	h.At("connecting")
	h.AtResource("exec", "a")
	h.Pin("reconnecting")()
	h.Sent(1, 2)
	h.Waits(nil)
	h.Came(true, true)
	h.Lost(true)
	h.Rest()
	h.Done()
}

func TestLines(t *testing.T) {
	three := Snapshot{Begun: true, Elapsed: 20 * time.Second, Hosts: 40, Done: 30, Working: 4, Changed: 2, Failed: 1, Unreachable: 3, Longest: []Working{
		{Host: "s002", What: "exec", Resource: "migrate", For: 74 * time.Second},
		{Host: "database-of-the-shop", What: "starting the host program", For: 9 * time.Second, Sent: 1 << 20, Size: 5 << 19},
		{Host: "世界\x1b[2J", What: "file", Resource: "/etc/\nmotd\u202e", For: 3700 * time.Second, Waits: true},
	}}
	one := Snapshot{Begun: true, Check: true, Hosts: 40, Done: 37, Working: 1, Changed: 2, Failed: 1, Longest: []Working{{Host: "s002", What: "exec", Resource: "migrate", For: 14 * time.Second}}}
	for _, test := range []struct {
		name          string
		s             Snapshot
		expected      time.Duration
		columns, rows int
		want          []string
	}{
		{"wide", three, 50 * time.Second, 200, 5, []string{
			`  s002                  exec#migrate  1m14s`,
			`  database-of-the-shop  sending the host program, 1.0 of 2.5 MiB  9s`,
			`  世界\x1b[2J           file#/etc/\nmotd\u202e (waits for other hosts)  1h01m`,
			`30/40 done, 2 changed, 1 failed, 3 unreachable · 4 running · 6 waiting · about 30s to go`,
		}},
		{"60 columns", three, 0, 60, 5, []string{
			`  s002                  exec#migrate  1m14s`,
			`  database-of-the-shop  sending the host program, 1.0 o…  9s`,
			`  世界\x1b[2J           file#/etc/\nmotd\u202e (wait…  1h01m`,
			`30/40 done, 2 changed, 1 failed, 3 unreachable · 4 running …`,
		}},
		{"20 columns", three, 0, 20, 5, []string{
			`  s002    ex…  1m14s`,
			`  datab…  sendi…  9s`,
			`  世界\…  fi…  1h01m`,
			`30/40 done, 2 chang…`,
		}},
		{"two rows", three, 0, 60, 2, []string{
			`  s002  exec#migrate  1m14s`,
			`30/40 done, 2 changed, 1 failed, 3 unreachable · 4 running …`,
		}},
		{"one row", three, 0, 20, 1, []string{`30/40 done, 2 chang…`}},
		{"one host", one, 0, 200, 5, []string{`37/40 done, 2 would change, 1 failed · s002 exec#migrate 14s · 2 waiting`}},
		{"one host on 60 columns", one, 0, 60, 5, []string{`37/40 done, 2 would change, 1 failed · s002 exec#migrate 14…`}},
		{"watching", Snapshot{Begun: true, Hosts: 40, Done: 40, Working: 1, Longest: one.Longest, Watch: &Watch{37, 3, 2, 1}}, time.Minute, 200, 5, []string{
			`37 watched, 2 drifted, 1 fighting, 3 unwatched · s002 exec#migrate 14s`,
		}},
		{"one column", one, 0, 1, 5, []string{`…`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := test.s.lines(test.expected, test.columns, test.rows)
			require.Equal(t, test.want, lines)
			for _, line := range lines {
				require.LessOrEqual(t, columnsOf(line), test.columns)
			}
		})
	}
}

func TestLongNames(t *testing.T) {
	require.LessOrEqual(t, len(clean(strings.Repeat("界", 1<<20))), maxName)
	require.Equal(t, "界", clean("界"))
}

// BenchmarkTracker takes 10,000 hosts through ten phases and resources each, with 64 in progress at once.
func BenchmarkTracker(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprint("host", i)
	}
	for b.Loop() {
		t := &Tracker{}
		t.Begin(len(names), false)
		var hosts []*Host
		for _, name := range names {
			h := t.Host(name)
			h.Work()
			for range 10 {
				h.AtResource("file", "/etc/motd")
				h.Came(true, false)
			}
			if hosts = append(hosts, h); len(hosts) == 64 {
				for _, h := range hosts {
					h.Done()
				}
				hosts = hosts[:0]
			}
		}
	}
}

// BenchmarkSnapshot takes snapshots of 64 and of 10,000 hosts in progress.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{64, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			t := &Tracker{}
			t.Begin(n, false)
			for i := range n {
				t.Host(fmt.Sprint("host", i)).Work()
			}
			for b.Loop() {
				t.Snapshot().lines(0, 80, maxRows)
			}
		})
	}
}
