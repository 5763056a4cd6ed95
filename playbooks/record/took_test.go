package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestTook(t *testing.T) {
	s := newStore(t)
	site := Header{Command: "apply", What: "site.yaml", Directory: "/site"}
	require.Zero(t, s.Took(site, 2), "nothing is recorded")
	at := func(n int, h Header, of events.HostTotals, interrupted bool) Header {
		h.Run = NewID(began.Add(time.Duration(n) * time.Minute))
		end := events.Summary{Interrupted: interrupted, Totals: events.Totals{Hosts: of}}
		end.Time = began.Add(time.Duration(n) * time.Second)
		s.record(t, h, events.RunStart{}, end)
		return h
	}
	both := events.HostTotals{OK: 1, Failed: 1}
	at(1, site, both, false)
	at(2, site, both, false)
	at(3, site, events.HostTotals{OK: 3}, false)
	at(4, site, events.HostTotals{OK: 1, NotStarted: 1}, false)
	at(5, site, events.HostTotals{OK: 1, Interrupted: 1}, true)
	check, other, elsewhere, command, undo, slow := site, site, site, site, site, site
	slow.Flags = []Flag{{Name: "output", Words: []string{"json"}}, {Name: "forks", Words: []string{"1"}}}
	check.Check, other.What, elsewhere.Directory, command.Command, undo.Undoes = true, "db.yaml", "/other", "check-health", "01ARYZ6S41TSV4RRFFQ69G5FAV"
	for i, h := range []Header{check, other, elsewhere, command, undo, slow} {
		at(6+i, h, both, false)
	}
	s.record(t, Header{Run: NewID(began.Add(time.Hour)), Command: "apply", What: "site.yaml", Directory: "/site"}, events.RunStart{}) // has not ended
	require.Equal(t, 2*time.Second, s.Took(site, 2), "the last one that is alike")
	require.Equal(t, 3*time.Second, s.Took(site, 3))
	require.Equal(t, 6*time.Second, s.Took(check, 2))
	require.Equal(t, 11*time.Second, s.Took(slow, 2))
	slow.Flags = slow.Flags[1:]
	require.Equal(t, 11*time.Second, s.Took(slow, 2), "how it prints is of no account")
	require.Zero(t, s.Took(site, 4))
}
