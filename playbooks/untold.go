package playbooks

import (
	"maps"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// untold has told what an earlier run could not tell, without what is known here to
// have been told: a host keeps all of a catalog that was not acknowledged, since it cannot
// know which of its results have arrived.
func (g *stages) untold(u *wire.Untold) {
	host := g.state.host.Name
	told := g.runner.Told.Of(u.Run, u.Play, host)
	if u.Run == g.runner.Options.Run && u.Play == g.of.number+1 { // another run has applied since
		told = g.progress.worth
	}
	told = maps.Clone(told)
	e := events.Untold{Play: g.of.play.Name, Host: host, Earlier: u.Run, Holder: u.Holder, Since: u.Since, More: u.More}
	for _, r := range u.Results {
		one := events.UntoldResult{Type: r.Type, Name: r.Name, Status: events.Status(r.Status)}
		if told[one] > 0 {
			told[one]--
			continue
		}
		one.Message, one.Error = r.Message, r.Error
		e.Results = append(e.Results, one)
	}
	for _, n := range told { // the host has no room for the names of the others
		e.More = max(0, e.More-n)
	}
	if len(e.Results)+e.More > 0 {
		g.pending = append(g.pending, e)
	}
}
