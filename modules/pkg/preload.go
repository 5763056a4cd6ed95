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
	return group{p.Provider, p.CacheValid, p.LockTimeout, p.place().id()}
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
	if k.fresh, err = p.fresh(ctx, m); err != nil {
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
	host   modules.Host
	group  group
	offers modules.EffectKind // result of offersKind
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
		if newest := r.recall(r.offers).offers[name]; newest != "" {
			return newest, nil
		}
	}
	return r.manager.offer(ctx, name, version)
}

// fresh implements [lister].
func (r *recalling) fresh(ctx context.Context, within time.Duration) (bool, error) {
	if k := r.recall(r.offers); k.offers != nil && within != justNow {
		return k.fresh, nil
	}
	return r.manager.fresh(ctx, within)
}

// plain reports whether a name is one of the host's own architecture, as written.
func plain(name string) bool {
	_, arch := splitArch(name)
	return arch == "" && !strings.Contains(name, ":")
}
