package playbooks

import (
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// untold reports the results that an earlier run could not report. It skips results that are recorded here as reported.
// A host keeps all results of a catalog that was not acknowledged, since it cannot know which of them have arrived.
func (g *stages) untold(u *wire.Untold) (reported bool) {
	host := g.state.host.Name
	e := untoldEvent(g.of.play.Name, host, u)
	told := g.runner.Told.Of(u.Run, u.Play, host, e.For)
	if u.Run == g.runner.Options.Run && u.Play == g.of.number+1 { // another run has applied since
		told = g.progress.worth
	}
	if e, left := withoutTold(e, told); left {
		g.runner.Options.Progress.Untold(e)
		g.pending = append(g.pending, e)
	}
	return true
}

// untoldEvent returns the event for results that a host could not report.
func untoldEvent(play, host string, u *wire.Untold) events.Untold {
	e := events.Untold{Play: play, Host: host, Earlier: u.Run, Number: u.Play, For: forHost(u.For), Holder: u.Holder, Since: u.Since, More: u.More}
	for _, r := range u.Results {
		e.Results = append(e.Results, events.UntoldResult{Type: r.Type, Name: r.Name, Status: events.Status(r.Status), Message: r.Message, Error: r.Error, Unknown: r.Unknown})
	}
	return e
}

// forHost returns the host of [wire.Once].For.
func forHost(of string) string {
	if i := strings.LastIndexByte(of, ' '); i >= 0 {
		return of[:i]
	}
	return of
}

// Untold filters the results that a worker reports for an earlier run. It removes results that are recorded here as
// reported. left is false if none remain.
func (r *Runner) Untold(e events.Untold) (rest events.Untold, left bool) {
	rest, left = withoutTold(e, r.Told.Of(e.Earlier, e.Number, e.Host, e.For))
	r.Options.Progress.Untold(rest)
	return rest, left
}

// withoutTold removes results that have been reported, each as often as in told.
func withoutTold(e events.Untold, told map[events.UntoldResult]int) (rest events.Untold, left bool) {
	told = maps.Clone(told)
	all := e.Results
	e.Results = nil
	for _, r := range all {
		one := events.UntoldResult{Type: r.Type, Name: r.Name, Status: r.Status}
		if told[one] > 0 {
			told[one]--
			continue
		}
		e.Results = append(e.Results, r)
	}
	for _, n := range told { // the host has no room for the names of the others
		e.More = max(0, e.More-n)
	}
	return e, len(e.Results)+e.More > 0
}
