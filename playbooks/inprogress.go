package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// A resource in progress on a host outlives its connection, its host program and this process: it keeps its semaphores
// until the host has reported, and the record has its begin.

// granted records that the host holds the semaphores of an entry from now on.
func (g *stages) granted(index int) {
	e := &g.compiled.Catalog.Entries[index]
	g.started(events.ResourceStart{
		Play: g.of.play.Name, Host: g.state.host.Name, Type: e.Type, Name: e.Name, Alias: e.Alias, Semaphores: e.Sema, Within: g.runner.within(g.compiled, index),
	})
}

// started records that a resource may begin on a host from now on. It returns once that is in the record. On a worker it
// does nothing, because the controller records what it grants.
func (f *fleet) started(e events.ResourceStart) {
	if f.controller() != nil || isStep(e.Semaphores) {
		return
	}
	f.runner.Events.Report(e)
	f.runner.Events.Sync()
}

// isStep reports whether semaphores are the one for prompting a person: it keeps no other host out.
func isStep(semaphores []string) bool { return len(semaphores) == 1 && semaphores[0] == stepSemaphore }

// begins records that a resource which runs once may begin for a host.
func (f *fleet) begins(p *part, host, resource string) {
	if !f.runner.applies() || p.mode.looks() {
		return
	}
	_, ref, _ := strings.Cut(resource, " ")
	kind, name, _ := strings.Cut(ref, "#")
	f.started(events.ResourceStart{Play: p.play.Name, Host: host, Type: kind, Name: name, Once: resource})
}

// abandon gives up the host, with the resources in progress there.
func (g *stages) abandon() {
	g.inside = map[int]bool{}
	g.turns.Abandon(g.state.host.Name, func(index int) (what string, within time.Duration) {
		e := &g.compiled.Catalog.Entries[index]
		if isStep(e.Sema) {
			return "", 0
		}
		g.inside[index] = true
		what, within = e.Ref(), g.runner.within(g.compiled, index)
		g.abandoned(g.state.host.Name, what, e.Sema, within)
		return what, within
	})
}

// began reports whether an entry may have begun on a host that was given up: one that waited for other hosts had not.
func (g *stages) began(index int) bool {
	e := &g.compiled.Catalog.Entries[index]
	if len(e.Sema) > 0 && !isStep(e.Sema) && !g.inside[index] {
		return false
	}
	return e.On == "" && (!e.Once || g.others.isHere(index))
}

// abandoned warns that semaphores stay taken. On a worker it does nothing, because the controller warns.
func (f *fleet) abandoned(host, what string, semaphores []string, within time.Duration) {
	if f.controller() != nil {
		return
	}
	names := strings.Join(semaphores, ", ")
	if within > 0 {
		f.runner.warn(fmt.Sprintf("the host %s was lost during %s: it may still hold the semaphore %s, and the timeout frees the semaphore in %v", host, what, names, within))
	} else {
		f.runner.warn(fmt.Sprintf("the host %s was lost during %s: it may hold the semaphore %s until the host is back; a timeout of the resource would free the semaphore", host, what, names))
	}
}

// within returns how long an entry may be in progress on a host that was given up; 0 is without a deadline. The host
// ends the entry by its own clock: within its deadline after its last try began, which is at the latest when the host
// notices that it hears nothing of the controller any more. That clock stops while the host is suspended, which the
// controller cannot know.
func (r *Runner) within(c *catalog.Compiled, entry int) time.Duration {
	limit := c.Deadline(entry)
	if limit == 0 {
		return 0
	}
	return limit + cmp.Or(r.Options.IdleTimeout, wire.IdleTimeout) + killTime
}

// killTime is the time that a host may need to end a command after its timeout.
const killTime = 5 * time.Second

// settle waits, in a run that resumes another one, for resources with semaphores that may still be in progress: until
// their hosts have completed all resources of the earlier run. It keeps the semaphores of hosts that do not answer. It
// returns false if the run must end.
func (f *fleet) settle(ctx context.Context) bool {
	if f.runner.Options.Progress == nil || !f.runner.applies() {
		return true
	}
	asked := map[string][]events.ResourceStart{}
	of := map[string]*selection{}
	for i, s := range f.plays {
		for _, e := range f.runner.Options.Progress.Plays[i].Started {
			if len(e.Semaphores) > 0 {
				asked[e.Where()], of[e.Where()] = append(asked[e.Where()], e), s
			}
		}
	}
	var hosts errgroup.Group
	hosts.SetLimit(f.runner.forks())
	for host, all := range asked {
		hosts.Go(func() error {
			if !f.settled(ctx, of[host], host) {
				f.keep(host, all)
			}
			return nil
		})
	}
	_ = hosts.Wait()
	return !f.interrupted(ctx)
}

// settled takes the lock of a host, which waits for an earlier run's resource in progress, and reports whether it has
// the lock.
func (f *fleet) settled(ctx context.Context, s *selection, host string) bool {
	state := f.states[host]
	if state == nil { // it does not belong to this run
		return false
	}
	_, err := process(ctx, f.playOn(s.whole(), state), SettleRequest{})
	return err == nil
}

// SettleRequest takes the lock of the host, after all resources of an earlier run have ended there.
type SettleRequest struct{}

func (SettleRequest) do(ctx context.Context, p *hostPlay) (nothing, error) {
	defer p.state.activity.Pin("waiting for the run before")()
	return nothing{}, p.takeLock(ctx)
}

// takeLock starts the host program, and has it take the lock of the host.
func (p *hostPlay) takeLock(ctx context.Context) error {
	timed, done := p.runner.hostTime(ctx)
	defer done()
	if err := p.start(timed); err != nil {
		p.state.close()
		return err
	}
	_, err := p.program.session.Apply(ctx, p.stop, session.Task{
		Compiled: &catalog.Compiled{Catalog: wire.Catalog{Lock: p.runner.lock(p.of.mode)}},
		Emit:     func(*wire.Result) {}, Flush: func() {}, Sync: p.runner.Events.Sync,
	})
	if err != nil {
		p.state.close()
	}
	return err
}

// keep keeps the semaphores of resources that an earlier run had begun on a host which does not answer. Their deadlines
// count from now: the last try may have begun long after the semaphores were granted, and the clock of the controller
// may have been set since.
func (f *fleet) keep(host string, all []events.ResourceStart) {
	for _, e := range all {
		claims, err := share.ParseSemaphores(e.Semaphores)
		if err != nil {
			continue // it is not of this ccm-push
		}
		what := e.Type + "#" + cmp.Or(e.Alias, e.Name)
		f.abandoned(host, what, e.Semaphores, e.Within)
		f.semaphores.Reserve(claims).Abandon(host, what, e.Within)
	}
}

// lost reports the known results of a lost host, and returns the failure of the host without them. The known results
// are the results of resources that ran for it on other hosts, and the commands that may have been running. The outcome
// of such a command is unknown, and repeating it is not safe.
func (g *stages) lost(ctx context.Context, failed error) error {
	pe, ok := errors.AsType[*phaseError](failed)
	if !ok || pe.phase != phaseLost && pe.phase != "deadline" && pe.phase != "protocol" || !g.runner.applies() || g.of.mode.looks() || g.progress.locked {
		return failed
	}
	why := "the host was lost, and the command may have been running"
	if errors.Is(context.Cause(ctx), context.Canceled) {
		why = "the run was ended, and the command may have been running"
	}
	received, late := g.others.finished()
	g.elsewhere(ctx, received)
	begun := g.mayRun()
	g.elsewhere(ctx, late)
	for _, i := range begun {
		if !g.progress.told[i] && g.compiled.RunsOnce(i) {
			g.result(ctx, &wire.Result{Index: i, Status: wire.Failed, Unknown: true, Error: why})
		}
	}
	g.flush()
	return &phaseError{pe.phase, pe.err, g.progress.Rest()}
}

// mayRun returns the entries that may be in progress on a host that was lost, and must not start again: commands without a
// guard, and what runs once.
func (g *stages) mayRun() (list []int) {
	if !g.runner.applies() || g.of.mode.looks() || g.progress.locked {
		return nil
	}
	for _, i := range g.progress.underWay() {
		e := &g.compiled.Catalog.Entries[i]
		if (g.compiled.RunsOnce(i) || e.Once) && g.began(i) && !e.Check && !e.Monitor && !e.Excluded && !e.Hidden {
			list = append(list, i)
		}
	}
	return list
}

// elsewhere reports the results of entries that ran on other hosts, if this host has not reported them.
func (g *stages) elsewhere(ctx context.Context, entries []int) {
	for _, i := range entries {
		if !g.progress.told[i] {
			g.result(ctx, &wire.Result{Index: i})
		}
	}
}

// underWay returns the entries that may have been in progress when the last result arrived: the next entry or, if
// several run at once, all entries that wait for no other entry.
func (p *catalogProgress) underWay() (list []int) {
	if p.next() == nil || p.killed && p.catalog.Parallel < 2 {
		return nil
	}
	c := p.catalog
	if c.Parallel < 2 {
		return []int{p.reached}
	}
	for i := p.reached; i < len(p.told) && len(list) < c.Parallel; i++ {
		waits := false
		for on := range wire.Dependencies(c.Entries, i) {
			waits = waits || !p.told[on]
		}
		if !p.told[i] && !waits && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}
