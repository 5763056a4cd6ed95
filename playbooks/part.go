package playbooks

import (
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// A part is what a host runs in one session: the play, a step of its rollout, or a check or a repair of one of them.
type part struct {
	*selection
	play     *manifest.Play // resources of the part; the same as in the selection, except in a step of a rollout
	compiler *catalog.Compiler
	mode     mode
	heard    heard // receives each result; nil ignores them
}

// heard receives a result of a host.
type heard func(host string, c *wire.Catalog, r *wire.Result)

// A mode is how a host runs a part.
type mode interface {
	// part returns a number that distinguishes the catalogs of one play on one host. 0 is the play itself.
	part() int
	// looks reports whether the host only answers: it changes, locks and keeps nothing, and no event reports its results.
	looks() bool
	// watched reports whether the run watches the host. A connection that is lost is then not dialled again on the way.
	watched() bool
	// flags returns the flags of the catalog. rehearsal is set if the same play is applied next.
	flags(o *Options) (check, monitor, rehearsal bool)
	// narrow removes from a catalog, or a stage of it, the entries that the host does not run in this mode.
	narrow(c *catalog.Compiled)
}

// wholePlay is the mode of a play that the run applies, or checks.
type wholePlay struct{}

func (wholePlay) part() int     { return 0 }
func (wholePlay) looks() bool   { return false }
func (wholePlay) watched() bool { return false }

func (wholePlay) flags(o *Options) (check, monitor, rehearsal bool) {
	return o.Check, o.Monitor, false
}

func (wholePlay) narrow(*catalog.Compiled) {}

// A rolloutStep applies resources of a rollout before or after the play.
type rolloutStep struct {
	wholePlay
	number int
}

func (s rolloutStep) part() int { return s.number }

// A look answers what would change on the host or, with monitors, whether it is healthy.
type look struct {
	wholePlay
	number   int
	monitors bool
}

func (l look) part() int { return l.number }
func (look) looks() bool { return true }

func (l look) flags(o *Options) (check, monitor, rehearsal bool) {
	return o.Check || !l.monitors, o.Monitor || l.monitors, !o.Check
}

// A standing is the mode of a play that the host watches: it reports predicted changes, and drift from then on.
type standing struct {
	wholePlay
	sent func(*catalog.Compiled) // receives the catalog that the host watches
	told func(*wire.Watched)     // receives what the host reports
}

func (*standing) looks() bool   { return true }
func (*standing) watched() bool { return true }

func (*standing) flags(o *Options) (check, monitor, rehearsal bool) { return true, o.Monitor, true }

func (*standing) narrow(c *catalog.Compiled) { leaveOutOthers(c) }

// whole returns the play itself as a part.
func (s *selection) whole() *part {
	return &part{selection: s, play: s.play, compiler: s.compiler, mode: wholePlay{}}
}

// step returns resources of a rollout as a part.
func (s *selection) step(c *catalog.Compiler, play *manifest.Play, number int) *part {
	return &part{selection: s, play: play, compiler: c, mode: rolloutStep{number: number}}
}

// looking returns a part that only looks at what p would apply.
func (p *part) looking(monitors bool, hears heard) *part {
	one := *p
	one.mode, one.heard = look{number: p.mode.part(), monitors: monitors}, hears
	return &one
}

// stands returns the mode of a watched part, or nil for any other part.
func (p *part) stands() *standing {
	s, _ := p.mode.(*standing)
	return s
}
