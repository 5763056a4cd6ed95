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
	unit    unit
	verbs   []verb    // in the order in which they are done
	begun   time.Time // when Apply began with the first one
}

// Check implements [modules.Resource].
func (s *Service) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	m, u, err := s.find(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	verbs, err := s.verbs(h.Files, u)
	if err != nil {
		return modules.Plan{}, err
	}
	if s.Action != "" && u.runs() { // otherwise it is started
		return s.again(h, m, u, verbs, s.Action == reloaded)
	}
	return s.plan(h, m, u, verbs)
}

// Recurs implements [modules.Recurrer].
func (s *Service) Recurs(modules.Plan) bool { return s.Action != "" }

// again returns the plan for a running service that is restarted or reloaded in addition to the other verbs.
func (s *Service) again(h modules.Host, m manager, u unit, verbs []verb, byReload bool) (modules.Plan, error) {
	if u.masked() && !slices.Contains(verbs, unmask) {
		return modules.Plan{}, modules.Refuse("service %s is masked, so it cannot be restarted; write masked: false as well", u.id)
	}
	if s.Action == reloaded && !u.canReload {
		return modules.Plan{}, modules.Refuse("service %s cannot be reloaded; action=restarted restarts it", u.id)
	}
	verb := restart
	if byReload {
		verb = reload
	}
	return s.plan(h, m, u, append(verbs, verb))
}

// Refresh implements [modules.Refresher]. A service that does not run, or must not, only follows the plan.
func (s *Service) Refresh(ctx context.Context, h modules.Host, p modules.Plan) (modules.Plan, error) {
	if s.Ensure == stopped {
		return p, nil
	}
	m, u, err := s.find(ctx, h)
	if err != nil || !u.runs() {
		return p, err
	}
	verbs, err := s.verbs(h.Files, u)
	if err != nil {
		return modules.Plan{}, err
	}
	refreshed, err := s.again(h, m, u, verbs, s.Reload && u.canReload && !u.stale)
	refreshed.Refreshed = err == nil
	return refreshed, err
}

func (s *Service) find(ctx context.Context, h modules.Host) (manager, unit, error) {
	m, err := s.manager(h)
	if err != nil {
		return nil, unit{}, err
	}
	if _, ok := m.(openrc); ok && s.Masked != nil {
		return nil, unit{}, modules.Refuse("OpenRC cannot mask services; remove masked")
	}
	u, err := m.look(ctx, h, s.Name)
	s.seen = u
	if u.missing { // a package may bring it that is called otherwise
		h.Forecast.Lookup(modules.AnyEffect, "")
	}
	return m, u, err
}

// verbs returns the verbs that a unit needs.
func (s *Service) verbs(files modules.FileReader, u unit) ([]verb, error) {
	if err := s.possible(files, u); err != nil {
		return nil, err
	}
	var verbs []verb
	add := func(v verb, needed bool) {
		if needed {
			verbs = append(verbs, v)
		}
	}
	add(reread, u.stale && !u.missing)
	add(forget, u.state == crashed)
	add(unmask, is(s.Masked, false) && u.masked())
	add(stop, s.Ensure == stopped && !u.stopped() && u.state != crashed)
	add(disable, is(s.Enable, false) && !u.disabled())
	// before the start: systemd forgets the result of a unit without references
	add(enable, is(s.Enable, true) && !u.enabled())
	add(start, s.Ensure != stopped && !u.runs())
	add(mask, is(s.Masked, true) && !u.masked())
	return verbs, nil
}

// possible refuses states that cannot be reached.
func (s *Service) possible(files modules.FileReader, u unit) error {
	unmasked := u.masked() && !is(s.Masked, false)
	switch {
	case u.missing && !u.masked() && (s.Ensure != stopped || is(s.Enable, true)):
		return modules.Refuse("service %s not found; install it first, or correct its name", u.id)
	case unmasked && s.Ensure != stopped && !u.runs():
		return modules.Refuse("service %s is masked, so it cannot be started; write masked: false as well", u.id)
	case unmasked && is(s.Enable, true):
		return modules.Refuse("service %s is masked, so it cannot be enabled; write masked: false as well", u.id)
	case u.broken != "" && !u.stale && (s.Ensure != stopped && !u.runs() || is(s.Enable, true) && !u.enabled()):
		return modules.Refuse("service %s cannot be used: %s", u.id, u.broken)
	case is(s.Masked, true) && !u.masked():
		return s.maskable(files, u)
	case is(s.Enable, true) && !u.enabled() && !u.masked() && !u.stale && (u.fileState == "" || u.fileState == "bad"):
		return modules.Refuse("service %s has no unit file that could be enabled; remove enable", u.id)
	case is(s.Enable, false) && !u.disabled() && !u.stale:
		return s.disableable(u)
	}
	return nil
}

// disableable refuses to disable a unit that is enabled by something other than links.
func (s *Service) disableable(u unit) error {
	if u.enabling().fixed {
		return modules.Refuse("service %s is %s: it cannot be disabled, because other units or programs start it; "+
			"to prevent that, write masked: true with ensure: stopped", u.id, u.fileState)
	}
	return s.notAlias(u, "disabled")
}

// maskable refuses to mask a unit whose file is at the path of the mask.
func (s *Service) maskable(files modules.FileReader, u unit) error {
	own := path.Join(modules.UnitFolders[0], u.id)
	_, err := files.Stat(own)
	switch {
	case err == nil:
		return modules.Refuse("service %s cannot be masked, because the unit file %s exists; remove the file, or move it to /usr/local/lib/systemd/system", u.id, own)
	case !modules.NotThere(err):
		return err
	}
	return s.notAlias(u, "masked")
}

// notAlias refuses a name that may be gone when the work is done.
func (s *Service) notAlias(u unit, participle string) error {
	if name := unitName(s.Name); name != u.id && len(u.names) > 1 && slices.Contains(u.names, name) {
		return modules.Refuse("service %s is an alias of %s and cannot be %s under this name; write the name %s", name, u.id, participle, u.id)
	}
	return nil
}

// changesLinks reports whether a verb makes or removes links to unit files.
func changesLinks(v verb) bool { return v == enable || v == disable || v == mask || v == unmask }

// plan puts verbs into words.
func (s *Service) plan(h modules.Host, m manager, u unit, verbs []verb) (modules.Plan, error) {
	if len(verbs) == 0 {
		return modules.Plan{}, nil
	}
	p := modules.Plan{
		Action:  s.action(verbs),
		Changes: changes(u, verbs),
		Effects: append(after(u, verbs).effects(), s.linkEffects(h, m, u, verbs)...),
		Steps:   &task{manager: m, unit: u, verbs: verbs},
	}
	if slices.Contains(verbs, mask) {
		p.Effects = append(p.Effects, modules.Effect{
			Kind:  modules.PathEffect,
			Key:   path.Join(modules.UnitFolders[0], u.id),
			State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Symlink, Target: "/dev/null"}},
		})
	}
	if slices.ContainsFunc(verbs, unpredictable) || m.uncertain(h) {
		p.Effects = append(p.Effects, modules.Anything)
	}
	return modules.PlanIfPermitted(p, m.refused(h, u, verbs))
}

// unpredictable reports whether the result of a verb cannot be known: it depends on programs, on the unit below a mask,
// or on a unit file that has not been read yet.
func unpredictable(v verb) bool { return runsPrograms(v) || v == unmask || v == reread }

// runsPrograms reports whether a verb runs the programs of a service.
func runsPrograms(v verb) bool { return v == start || v == stop || v == restart || v == reload }
