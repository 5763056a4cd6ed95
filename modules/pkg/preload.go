package pkg

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A group is the common part of packages that one query can cover.
type group struct{ provider, cacheValid, lockTimeout, place string }

func (p *Package) group() group {
	return group{p.Provider, p.CacheValid, p.LockTimeout, p.place()}
}

// known contains the states of the packages of a group. A missing name has not been queried.
type known struct {
	installed map[string]State
	offers    map[string]string // newest versions of the packages with ensure: latest
	fresh     bool              // the lists are; only known if offers is not nil
}

// Preload implements [modules.Preloader].
func (p *Package) Preload(ctx context.Context, h modules.Host, all []modules.Resource) (any, error) {
	groups := map[group][]*Package{}
	for _, res := range all {
		if q, ok := res.(*Package); ok {
			groups[q.group()] = append(groups[q.group()], q)
		}
	}
	answer := map[group]*known{}
	for g, packages := range groups {
		k, err := preload(ctx, h, packages)
		if err != nil {
			return nil, err
		}
		answer[g] = k
	}
	return answer, nil
}

// preload queries the packages of one group.
func preload(ctx context.Context, h modules.Host, packages []*Package) (*known, error) {
	p, k := packages[0], &known{}
	m, err := p.manager(h)
	if err != nil {
		return nil, err
	}
	s, ok := m.(surveyor)
	if !ok {
		return k, nil
	}
	var names, newest []string
	for _, q := range packages {
		names = append(names, q.Name)
		if q.Ensure == latest {
			newest = append(newest, q.Name)
		}
	}
	k.installed = map[string]State{}
	for part := range parts(names) {
		if err := s.survey(ctx, part, k.installed); err != nil {
			return nil, err
		}
	}
	if len(newest) == 0 {
		return k, nil
	}
	if k.fresh, err = p.fresh(ctx, m, p.validity()); err != nil {
		return nil, err
	}
	k.offers = map[string]string{}
	for part := range parts(newest) {
		if !k.fresh {
			break
		}
		if err := s.offers(ctx, part, k.offers); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// maxNames bounds the names on one command line.
const maxNames = 500

// parts yields the different names, as many at once as a command line may have.
func parts(names []string) iter.Seq[[]string] {
	slices.Sort(names)
	return slices.Chunk(slices.Compact(names), maxNames)
}

// recalling is a manager that answers from the results of Preload, if they have the answer.
type recalling struct {
	manager
	host  modules.Host
	group group
}

// recall returns the preloaded answers about things of that kind. The kind matters only in check runs.
func (r *recalling) recall(reads modules.EffectKind) *known {
	answer, _ := r.host.Preloaded(reads).(map[group]*known)
	if k := answer[r.group]; k != nil {
		return k
	}
	return &known{}
}

// installed implements [looker].
func (r *recalling) installed(ctx context.Context, name string) (State, error) {
	if s, ok := r.recall(Effect).installed[name]; ok {
		return s, nil
	}
	return r.manager.installed(ctx, name)
}

// offer implements [looker].
func (r *recalling) offer(ctx context.Context, name, version string) (string, error) {
	if version == "" {
		if newest := r.recall("").offers[name]; newest != "" {
			return newest, nil
		}
	}
	return r.manager.offer(ctx, name, version)
}

// fresh implements [lister].
func (r *recalling) fresh(ctx context.Context, within time.Duration) (bool, error) {
	if k := r.recall(""); k.offers != nil && within != justNow {
		return k.fresh, nil
	}
	return r.manager.fresh(ctx, within)
}

// plain reports whether a name is one of the host's own architecture, as written.
func plain(name string) bool {
	_, arch := splitArch(name)
	return arch == "" && !strings.Contains(name, ":")
}

// survey implements [surveyor].
func (a apt) survey(ctx context.Context, names []string, states map[string]State) error {
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ":") })
	if len(names) == 0 {
		return nil
	}
	rows := map[string][]dpkgRow{}
	several := false
	exit, err := a.query(ctx, Effect, func(line string) {
		row := parseDpkgRow(line)
		name, _, _ := strings.Cut(row.name, ":")
		rows[name] = append(rows[name], row)
		several = several || ambiguous(rows[name])
	}, append([]string{"dpkg-query", "-W", "-f", dpkgFormat, "--"}, names...)...)
	switch {
	case err != nil:
		return err
	case exit.Code > 1: // 1: some are not there
		return failure("dpkg-query", exit, nil)
	}
	native := ""
	if several {
		if native, err = a.architecture(ctx); err != nil {
			return err
		}
	}
	for _, name := range names {
		arch := ""
		if ambiguous(rows[name]) {
			arch = native
		}
		states[name] = stateOf(rows[name], arch)
	}
	return nil
}

// offers implements [surveyor].
func (a apt) offers(ctx context.Context, names []string, offers map[string]string) error {
	policies := aptPolicies{byName: map[string]*aptPolicy{}}
	if err := a.cache(ctx, policies.line, append([]string{"policy", "--"}, names...)...); err != nil {
		return err
	}
	for _, name := range names {
		if p := policies.byName[name]; p != nil {
			offers[name] = p.candidate
		}
	}
	return nil
}

// rpmMissing reads the line of rpm about a package that is not installed.
func rpmMissing(line string) (name string, ok bool) {
	name, ok = strings.CutPrefix(line, "package ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, " is not installed")
}

// offers implements [surveyor].
func (d dnf) offers(ctx context.Context, names []string, offers map[string]string) error {
	names = slices.DeleteFunc(names, func(name string) bool { return !plain(name) })
	if len(names) == 0 {
		return nil
	}
	rows, err := d.available(ctx, append([]string{"--latest-limit=1"}, names...)...)
	if err != nil {
		return err
	}
	byName := map[string][]rpmRow{}
	for _, r := range rows {
		byName[r.name] = append(byName[r.name], r)
	}
	for _, name := range names {
		if own := byName[name]; len(own) > 0 {
			best, err := d.best(ctx, own)
			if err != nil {
				return err
			}
			offers[name] = best.version
		}
	}
	return nil
}
