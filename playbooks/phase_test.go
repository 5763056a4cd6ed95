package playbooks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
)

// phaseTable has a row per phase, and a column per phase that may follow: x may, and a dot may not.
const phaseTable = `
             queued ready starting working waiting kept interrupted done failed lost unreachable
queued       .      .     x        x       .       .    .           x    .      .    .
ready        .      .     x        x       .       .    .           .    .      .    .
starting     x      x     .        x       .       .    .           x    x      x    x
working      .      .     .        .       x       x    x           x    x      x    x
waiting      .      .     .        x       .       .    .           x    .      .    .
kept         .      .     .        x       .       .    .           x    .      .    .
interrupted  .      .     .        .       .       .    .           x    .      .    .
done         .      .     .        .       .       .    .           .    .      .    .
failed       .      .     .        .       .       .    .           .    .      x    x
lost         .      .     .        .       .       .    .           .    .      .    .
unreachable  .      .     .        .       .       .    .           .    .      .    .
`

func TestHostPhases(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(phaseTable), "\n")
	require.Equal(t, phaseNames[:], strings.Fields(rows[0]))
	require.Len(t, rows, len(phaseNames)+1)
	for from, row := range rows[1:] {
		cells := strings.Fields(row)
		require.Equal(t, hostPhase(from).String(), cells[0])
		for next, cell := range cells[1:] {
			var bugs []string
			s := &hostState{host: &inventory.Host{Name: "web1"}, bugs: func(text string) { bugs = append(bugs, text) }}
			s.now.Store(int32(from))
			s.to(hostPhase(next))
			if cell == "x" {
				require.Empty(t, bugs)
				require.Equal(t, hostPhase(next), s.phase())
				continue
			}
			require.Equal(t, []string{fmt.Sprintf("bug: host web1 cannot go from %s to %s; please report this", hostPhase(from), hostPhase(next))}, bugs)
			require.Equal(t, hostPhase(from), s.phase(), "an illegal transition is refused")
		}
	}
}

func TestIllegalHostPhasePanicsWithoutReporter(t *testing.T) {
	s := &hostState{host: &inventory.Host{Name: "web1"}}
	s.end()
	require.Panics(t, func() { s.to(hostWorking) })
}

func TestPhaseOfAHost(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(s *hostState)
		want hostPhase
	}{
		{"a host that rests before anything began is queued", func(s *hostState) { s.enter(); s.rest(false) }, hostQueued},
		{"its connection may be kept", func(s *hostState) { s.enter(); s.rest(true) }, hostReady},
		{"a host waits between plays", func(s *hostState) { s.enter(); s.begin(); s.rest(false) }, hostWaiting},
		{"with its connection", func(s *hostState) { s.enter(); s.begin(); s.rest(true) }, hostKept},
		{"the next play works on it at once", func(s *hostState) { s.enter(); s.begin(); s.rest(true); s.enter() }, hostWorking},
		{"a failed host stays failed", func(s *hostState) { s.enter(); s.begin(); s.fail(); s.end() }, hostFailed},
		{"a failed host may be lost", func(s *hostState) { s.enter(); s.begin(); s.fail(); s.to(hostLost); s.end() }, hostLost},
		{"an interrupted host stays so between plays", func(s *hostState) { s.enter(); s.begin(); s.to(hostInterrupted); s.rest(true) }, hostInterrupted},
		{"and is done", func(s *hostState) { s.enter(); s.begin(); s.to(hostInterrupted); s.end() }, hostDone},
		{"a worker cannot fail a host at rest", func(s *hostState) { s.fail() }, hostQueued},
		{"a host that only is watched is done", func(s *hostState) { s.end() }, hostDone},
	} {
		s := &hostState{host: &inventory.Host{Name: "web1"}}
		tt.do(s)
		require.Equal(t, tt.want, s.phase(), tt.name)
	}
}
