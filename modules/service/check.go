package service

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// task is passed from Check to Apply and Verify.
type task struct {
	manager manager
	of      *Service // the resource, or the state that an event wants
	unit    unit
	verbs   []verb    // in the order in which they are done
	begun   time.Time // when Apply began with the first one
}

// found is a service and its unit on a host.
type found struct {
	*Service
	h modules.Host
	m manager
	u unit
}

// Check implements [modules.Resource].
func (s *Service) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	f, err := s.find(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	verbs, err := f.verbs()
	if err != nil {
		return modules.Plan{}, err
	}
	if s.Action != "" && f.u.runs() { // otherwise it is started
		return f.again(verbs, actionOf(s) == toReload)
	}
	return f.plan(verbs)
}

// Recurs implements [modules.Recurrer].
func (s *Service) Recurs(modules.Plan) bool { return s.Action != "" }

// again returns the plan for a running service that is restarted or reloaded in addition to the other verbs.
func (f *found) again(verbs []verb, byReload bool) (modules.Plan, error) {
	if f.u.masked() && !slices.Contains(verbs, unmask) {
		return modules.Plan{}, modules.Refuse("service %s is masked, so it cannot be restarted; write masked: false as well", f.u.id)
	}
	switch {
	case actionOf(f.Service) != toReload, f.u.canReload, f.RefreshOnly && f.u.stale:
	case f.RefreshOnly:
		return modules.Plan{}, modules.Refuse("service %s cannot be reloaded; write action: restart", f.u.id)
	default:
		return modules.Plan{}, modules.Refuse("service %s cannot be reloaded; action=restarted restarts it", f.u.id)
	}
	verb := restart
	if byReload {
		verb = reload
	}
	return f.plan(append(verbs, verb))
}

// Refresh implements [modules.Refresher]. A service that does not run, or must not, only follows the plan.
func (s *Service) Refresh(ctx context.Context, h modules.Host, p modules.Plan) (modules.Plan, error) {
	switch {
	case s.RefreshOnly:
		return act(ctx, s, h)
	case s.Ensure == stopped:
		return p, nil
	}
	f, err := s.find(ctx, h)
	if err != nil || !f.u.runs() {
		return p, err
	}
	verbs, err := f.verbs()
	if err != nil {
		return modules.Plan{}, err
	}
	refreshed, err := f.again(verbs, s.Reload && f.u.canReload && !f.u.stale)
	refreshed.Refreshed = err == nil
	return refreshed, err
}

// act returns the plan of an event.
func act(ctx context.Context, s *Service, h modules.Host) (modules.Plan, error) {
	want := *s
	want.Enable, want.Masked, want.Ensure = nil, nil, running
	if actionOf(s) == toStop {
		want.Ensure = stopped
	}
	f, err := want.find(ctx, h)
	s.seen = want.seen
	if err != nil {
		return modules.Plan{}, err
	}
	verbs, err := f.verbs()
	byReload := s.RefreshAction() == modules.ActionReload
	switch {
	case err != nil:
		return modules.Plan{}, err
	case byReload && !f.u.runs():
		h.Report.Message(modules.LevelInfo, "not reloaded, because "+f.u.id+" does not run")
		return modules.Plan{}, nil
	}
	var plan modules.Plan
	switch actionOf(s) {
	case toStart, toStop:
		if !slices.ContainsFunc(verbs, runsPrograms) {
			return modules.Plan{}, nil
		}
		plan, err = f.plan(verbs)
	default:
		if !f.u.runs() {
			plan, err = f.plan(verbs)
			break
		}
		plan, err = f.again(verbs, byReload && (s.Action != "" || f.u.canReload && !f.u.stale))
	}
	plan.Refreshed = err == nil && plan.Pending()
	return plan, err
}

// RefreshAction implements [modules.Merger].
func (s *Service) RefreshAction() string {
	action := actionOf(s)
	switch {
	case s.RefreshOnly && action != "":
		return action
	case s.Ensure == stopped:
		return ""
	case s.Reload:
		return modules.ActionReload
	}
	return modules.ActionRestart
}

// SetRefreshAction implements [modules.Merger].
func (s *Service) SetRefreshAction(action string) {
	s.Reload = action == modules.ActionReload
	if s.RefreshOnly {
		s.Action = action
	}
}

func (s *Service) find(ctx context.Context, h modules.Host) (*found, error) {
	m, err := s.manager(h)
	if err != nil {
		return nil, err
	}
	if _, ok := m.(openrc); ok && s.Masked != nil {
		return nil, modules.Refuse(`OpenRC cannot mask services; remove "masked"`)
	}
	u, err := m.look(ctx, h, s.Name)
	s.seen = u
	if u.missing { // a package may bring it that is called otherwise
		h.Forecast.Lookup(modules.AnyEffect, "")
	}
	return &found{s, h, m, u}, err
}

// verbs returns the verbs that a unit needs.
func (f *found) verbs() ([]verb, error) {
	if err := f.possible(); err != nil {
		return nil, err
	}
	var verbs []verb
	add := func(v verb, needed bool) {
		if needed {
			verbs = append(verbs, v)
		}
	}
	add(reread, f.u.stale && !f.u.missing)
	add(forget, f.u.state == crashed)
	add(unmask, is(f.Masked, false) && f.u.masked())
	add(stop, f.Ensure == stopped && !f.u.stopped() && f.u.state != crashed)
	add(disable, is(f.Enable, false) && !f.u.disabled())
	// before the start: systemd forgets the result of a unit without references
	add(enable, is(f.Enable, true) && !f.u.enabled())
	add(start, f.Ensure != stopped && !f.u.runs())
	add(mask, is(f.Masked, true) && !f.u.masked())
	return verbs, nil
}

// possible refuses states that cannot be reached.
func (f *found) possible() error {
	unmasked := f.u.masked() && !is(f.Masked, false)
	switch {
	case f.u.missing && !f.u.masked() && (f.Ensure != stopped || is(f.Enable, true)):
		return modules.Refuse("service %s not found; install it first, or correct its name", f.u.id)
	case unmasked && f.Ensure != stopped && !f.u.runs():
		return modules.Refuse("service %s is masked, so it cannot be started; write masked: false as well", f.u.id)
	case unmasked && is(f.Enable, true):
		return modules.Refuse("service %s is masked, so it cannot be enabled; write masked: false as well", f.u.id)
	case f.u.broken != "" && !f.u.stale && (f.Ensure != stopped && !f.u.runs() || is(f.Enable, true) && !f.u.enabled()):
		return modules.Refuse("service %s cannot be used: %s", f.u.id, f.u.broken)
	case is(f.Masked, true) && !f.u.masked():
		return f.maskable()
	case is(f.Enable, true) && !f.u.enabled() && !f.u.masked() && !f.u.stale && (f.u.fileState == "" || f.u.fileState == "bad"):
		return modules.Refuse(`service %s has no unit file that could be enabled; remove "enable"`, f.u.id)
	case is(f.Enable, false) && !f.u.disabled() && !f.u.stale:
		return f.disableable()
	}
	return nil
}

// disableable refuses to disable a unit that is enabled by something other than links.
func (f *found) disableable() error {
	if f.u.enabling().fixed {
		return modules.Refuse("service %s is %s: it cannot be disabled, because other units or programs start it; "+
			"to prevent that, write masked: true with ensure: stopped", f.u.id, f.u.fileState)
	}
	return f.notAlias("disabled")
}

// maskable refuses to mask a unit whose file is at the path of the mask.
func (f *found) maskable() error {
	own := path.Join(modules.UnitFolders[0], f.u.id)
	_, err := f.h.Files.Stat(own)
	switch {
	case err == nil:
		return modules.Refuse("service %s cannot be masked, because the unit file %s exists; remove the file, or move it to /usr/local/lib/systemd/system", f.u.id, own)
	case !modules.NotThere(err):
		return err
	}
	return f.notAlias("masked")
}

// notAlias refuses a name that may be gone when the work is done.
func (f *found) notAlias(participle string) error {
	if name := unitName(f.Name); name != f.u.id && len(f.u.names) > 1 && slices.Contains(f.u.names, name) {
		return modules.Refuse("service %s is an alias of %s and cannot be %s under this name; write the name %s", name, f.u.id, participle, f.u.id)
	}
	return nil
}

// changesLinks reports whether a verb makes or removes links to unit files.
func changesLinks(v verb) bool { return v == enable || v == disable || v == mask || v == unmask }

// rereads reports whether systemctl reloads all unit files with this verb.
func rereads(v verb) bool { return v == reread || changesLinks(v) }

// plan puts verbs into words.
func (f *found) plan(verbs []verb) (modules.Plan, error) {
	if len(verbs) == 0 {
		return modules.Plan{}, nil
	}
	p := modules.Plan{
		Action:  f.words(verbs),
		Changes: changes(f.u, verbs),
		Effects: append(after(f.u, verbs).effects(), f.linkEffects(verbs)...),
		Steps:   &task{manager: f.m, of: f.Service, unit: f.u, verbs: verbs},
	}
	switch {
	case slices.Contains(verbs, start), slices.Contains(verbs, restart):
		p.Serves = modules.ActionRestart
	case slices.Contains(verbs, reload):
		p.Serves = modules.ActionReload
	}
	if slices.Contains(verbs, mask) {
		p.Effects = append(p.Effects, modules.Effect{
			Kind:  modules.PathEffect,
			Key:   path.Join(modules.UnitFolders[0], f.u.id),
			State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Symlink, Target: "/dev/null"}},
		})
	}
	if _, is := f.m.(systemd); is && slices.ContainsFunc(verbs, rereads) {
		p.Effects = append(p.Effects, modules.Effect{Kind: modules.RereadEffect})
	}
	switch {
	case slices.Contains(verbs, unmask):
		p.Effects = append(p.Effects, modules.Anything)
	case slices.ContainsFunc(verbs, unpredictable):
		p.Effects = append(p.Effects, modules.Elsewhere)
	}
	p.MayFail = f.m.uncertain(f.h)
	return modules.PlanIfPermitted(p, f.m.refused(f.h, f.u, verbs))
}

// unpredictable reports whether the result of a verb cannot be known: it depends on programs, on the unit below a mask,
// or on a unit file that has not been read yet.
func unpredictable(v verb) bool { return runsPrograms(v) || v == unmask || v == reread }

// runsPrograms reports whether a verb runs the programs of a service.
func runsPrograms(v verb) bool { return v == start || v == stop || v == restart || v == reload }
