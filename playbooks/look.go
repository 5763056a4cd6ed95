package playbooks

import (
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// A look is a play that is not carried out, and of which nothing is told: a rollout wants to know what
// would change, or whether a host is healthy. nil is no look.
type look struct {
	monitors bool // health checks are run, and nothing else
	// The host goes on telling what becomes of the play: sent is given the catalog as it is sent then,
	// and told what comes of that. nil is no watch.
	sent func(*catalog.Compiled)
	told func(*wire.Watched)
}

// watches reports whether a play is sent to be watched from then on.
func (l *look) watches() bool { return l != nil && l.sent != nil }

// heard is told each result of a host.
type heard func(host string, c *wire.Catalog, r *wire.Result)

// looking is a play that is only looked at.
func (s *selection) looking(monitors bool, hears heard) *selection {
	one := *s
	one.look, one.heard = &look{monitors: monitors}, hears
	return &one
}

// mode is what a catalog of a play is to do. rehearsal says that the same play is carried out next.
func (r *Runner) mode(s *selection) (check, monitor, rehearsal bool) {
	check, monitor = r.Options.Check, r.Options.Monitor
	if s.look != nil {
		check, monitor = check || !s.look.monitors, monitor || s.look.monitors
		rehearsal = !r.Options.Check || s.look.watches()
	}
	return check, monitor, rehearsal
}
