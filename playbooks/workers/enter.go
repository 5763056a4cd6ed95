package workers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
)

// sampled limits the hosts of a site that are tried before a run.
const sampled = 3

// An entrance tries before a run whether hosts accept workers: one host of each site, and another one if that host does
// not.
type entrance struct {
	run     *run
	samples map[string][]playbooks.Turn // hosts to try next, by site
	logins  chan login
	open    int // number of logins in progress
	entered bool
	refused []string // hosts that refused the certificate
}

// A login is a tried host, with the end of its turn.
type login struct {
	turn playbooks.Turn
	end  playbooks.TurnEnd
}

// enter tries hosts of each site.
func (r *run) enter(ctx context.Context, stop <-chan struct{}, turns []playbooks.Turn) error {
	e := &entrance{run: r, samples: map[string][]playbooks.Turn{}}
	bySite := map[string][]string{}
	for _, t := range turns {
		site := r.routes.site(t.Host)
		bySite[site] = append(bySite[site], t.Host)
		if len(e.samples[site]) == sampled {
			continue
		}
		if _, err := r.routes.reachable(t.Host); err == nil { // an unreachable host fails later, with this error
			e.samples[site] = append(e.samples[site], t)
		}
	}
	e.logins = make(chan login, 2*sampled*len(e.samples)) // each host is tried twice at most
	r.routes.try(bySite)
	defer func() {
		r.routes.try(nil)
		r.intake.cancelAll() // this run has no other turns yet
	}()
	for site := range e.samples {
		e.next(ctx, site)
	}
	return e.await(ctx, stop)
}

// next tries the next host of a site.
func (e *entrance) next(ctx context.Context, site string) {
	if left := e.samples[site]; len(left) > 0 {
		e.samples[site] = left[1:]
		e.try(ctx, left[0])
	}
}

// try tries a host.
func (e *entrance) try(ctx context.Context, t playbooks.Turn) {
	e.open++
	ended := make(chan playbooks.TurnEnd, 1)
	e.run.tasks.start(func() { e.logins <- login{t, <-ended} }) // run.enter ends the remaining turns
	e.run.intake.gather(ctx, &turn{t, playbooks.NoQuestions{Turn: t}, ended})
}

// await waits until a worker has entered a host, or all sites if the run waits for all of them.
func (e *entrance) await(ctx context.Context, stop <-chan struct{}) error {
	var late <-chan time.Time
	if e.run.waitWorkers > 0 {
		late = time.After(e.run.waitWorkers)
	}
	for e.open > 0 {
		select {
		case one := <-e.logins:
			e.open--
			if err := e.judge(ctx, one); err != nil {
				return err
			}
			if e.entered && e.run.waitWorkers == 0 {
				return nil
			}
		case <-late:
			if err := e.missing(ctx); err != nil {
				return err
			}
			if e.entered {
				return nil
			}
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-e.run.inbox.closed:
			return nil
		case <-e.run.lost:
			return nil
		}
	}
	if e.entered || len(e.refused) == 0 { // no host answers: the run reports that
		return nil
	}
	authority, err := e.run.authority.key()
	if err != nil {
		return err
	}
	return fmt.Errorf("--workers: no host accepts workers: %s refused certificates of the authority %s\n"+
		"  hint: TrustedUserCAKeys in sshd_config must name a file with this key; run the play authority.yaml without workers (--workers ''); ccm-push new authority DIR writes it\n  %s",
		strings.Join(e.refused, ", "), ssh.FingerprintSHA256(authority), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(authority))))
}

// judge processes the end of a login, and tries the next host of its site if the host did not let the worker in.
func (e *entrance) judge(ctx context.Context, one login) error {
	end, host := one.end, one.turn.Host
	site := e.run.routes.site(host)
	if end.Failure == nil { // a worker entered it, or the run ends
		if e.run.routes.isUnbound(site, host) {
			e.run.warn(fmt.Sprintf("%s accept workers of any site: the host %s has no AuthorizedPrincipalsFile with the site\n  hint: run the play authority.yaml without workers (--workers ''); ccm-push new authority DIR writes it", hostsOf(site), host))
		}
		e.entered = true
		return nil
	}
	if _, err := e.run.authority.key(); err != nil {
		return fmt.Errorf("--workers: %w", err)
	}
	if err := e.run.parcels.failure(); err != nil {
		return fmt.Errorf("--workers: %w", err)
	}
	if end.Refused && e.run.routes.unbind(site, host) {
		e.try(ctx, one.turn)
		return nil
	}
	if end.Refused {
		e.refused = append(e.refused, host)
	}
	e.next(ctx, site)
	return nil
}

// missing returns an error with the sites from which no worker has taken a host, or nil.
func (e *entrance) missing(ctx context.Context) error {
	untaken := e.run.intake.untaken()
	if len(untaken) == 0 {
		return nil
	}
	var parts []string
	seen, hint := "", ""
	for _, site := range slices.Sorted(maps.Keys(untaken)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", hostsOf(site), named(slices.Sorted(slices.Values(e.run.routes.triedOf(site))))))
		if hint == "" {
			seen, hint = e.run.attendance.lookForWorkers(ctx, site)
		}
	}
	return fmt.Errorf("--wait-workers: no worker has taken %s within %v%s; nothing was changed\n  hint: %s", strings.Join(parts, ", "), e.run.waitWorkers, seen, hint)
}
