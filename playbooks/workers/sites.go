package workers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

const (
	// silenceTime is the silence after which a worker is reported as lost: its lease has ended by then, and another worker could have its hosts.
	silenceTime = queue.LeaseTime
	// untakenTime is the time after which a site is reported if no worker has taken its hosts.
	untakenTime = 15 * time.Second
	// maxNamed bounds the hosts that a report names.
	maxNamed = 10
)

// attendance reports sites without a worker, and sites that a worker serves again.
type attendance struct {
	queue   queue.Queue
	key     keyring.Key
	workers keyring.Keys
	runner  *playbooks.Runner
	ledger  *ledger
	routes  *routes
	warn    func(string)
	url     string          // URL of NATS for hints, without a password
	closed  <-chan struct{} // closed at the end of the run
	silence time.Duration   // after that time without a request a worker is reported as lost

	begun    atomic.Bool       // the run has begun: hosts have turns
	reported map[string]string // sites without a worker, with their reported state; only [attendance.watch] uses it

	mu      sync.Mutex
	reached time.Time // when NATS was last found out of reach, or the run began
}

// A siteState reports whether workers serve the hosts of a site that have not ended.
type siteState struct {
	served string   // name of a worker that has hosts of the site; empty means that no worker has hosts there
	hosts  []string // hosts that no worker has, in order
	absent []string // workers that had these hosts, in order, and what happened to them
	since  time.Time
}

// silenceOf returns the time since the last request of a worker. The time in which NATS was out of reach does not count.
func (w *attendance) silenceOf(h *assignment) time.Duration {
	return min(h.errands.silence(), time.Since(w.reachedSince()))
}

// reachedSince returns since when NATS is reached, as far as this machine knows.
func (w *attendance) reachedSince() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.queue.Connected() {
		w.reached = time.Now()
	}
	return w.reached
}

// watch reports sites until the run is closed.
func (w *attendance) watch(ctx context.Context) {
	ticks := time.NewTicker(min(laterTime, w.silence))
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-w.closed:
			return
		}
		for site, s := range w.states() {
			w.report(ctx, site, s)
		}
	}
}

// report reports a site if its state has changed.
func (w *attendance) report(ctx context.Context, site string, s *siteState) {
	known := w.reported[site]
	limit := min(untakenTime, w.silence)
	now := fmt.Sprint(s.absent, s.since)
	switch {
	case len(s.hosts) == 0 && s.served == "": // all hosts have ended
		delete(w.reported, site)
	case s.served != "":
		if known != "" {
			w.publish(events.SiteWaits{Site: site, Worker: s.served, Text: fmt.Sprintf("%s are served again, by worker %s", hostsOf(site), s.served)})
		}
		delete(w.reported, site)
	case known == now || len(s.absent) == 0 && time.Since(s.since) < limit:
	default:
		if w.reported == nil {
			w.reported = map[string]string{}
		}
		w.reported[site] = now
		w.publish(events.SiteWaits{Site: site, Hosts: s.hosts, Text: w.describe(ctx, site, s)})
	}
}

// publish warns here, and reports an event for programs that follow the run on other machines. An event is part of the run, so there is
// none before it has begun.
func (w *attendance) publish(e events.SiteWaits) {
	w.warn(e.Text)
	if w.begun.Load() {
		w.runner.Events.Report(e)
	}
}

// describe returns the warning about a site without a worker.
func (w *attendance) describe(ctx context.Context, site string, s *siteState) string {
	what := "no worker has taken them yet"
	if len(s.absent) > 0 {
		what = strings.Join(s.absent, "; ")
	}
	seen, hint := w.lookForWorkers(ctx, site)
	return fmt.Sprintf("%s wait for a worker since %s: %s; waiting: %s%s\n  hint: %s",
		hostsOf(site), s.since.Local().Format(time.TimeOnly), what, named(s.hosts), seen, hint)
}

// lookForWorkers reports which workers are connected while hosts of a site wait, and what to do.
func (w *attendance) lookForWorkers(ctx context.Context, site string) (seen, hint string) {
	hint = "start one: ccm-push worker --workers " + cmp.Or(w.url, "URL")
	if site != "" {
		hint += " --site " + site
	}
	ring := w.workers.Ring()
	all, unreadable, err := Present(ctx, w.queue, w.key, ring)
	if err != nil {
		return "", hint
	}
	all = slices.DeleteFunc(all, func(one Connected) bool { return one.age >= w.silence })
	for _, one := range all {
		switch at := fmt.Sprintf("worker %s (%s, pid %d)", one.Name, one.Host, one.PID); {
		case one.Site != site:
		case !one.Listed:
			return fmt.Sprintf("; %s is connected, and its key is not on the list of workers", at), "if it may get hosts, add its key to " + keyring.NameOf(w.workers, "--workers-list")
		case one.Refused:
			e := &siteError{ring[one.key], []string{site}}
			return fmt.Sprintf("; %s is connected, and %s", at, e.cause()), e.change()
		case one.Busy >= one.Capacity:
			return fmt.Sprintf("; %s is busy with %s of other runs", at, counted(one.Hosts)), "wait, or " + hint
		}
	}
	if unreadable > 0 {
		return fmt.Sprintf("; %d connected workers do not accept runs of this machine", unreadable),
			"add its key to coordinators.keys of the workers of this site: " + w.key.Public()
	}
	return "; " + served(all), hint
}

// hostsOf names the hosts of a site.
func hostsOf(site string) string {
	if site == "" {
		return "hosts without a site"
	}
	return fmt.Sprintf("hosts of site %q", site)
}

// named lists hosts, the first ones by name.
func named(hosts []string) string {
	if more := len(hosts) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(hosts[:maxNamed], ", "), more)
	}
	return strings.Join(hosts, ", ")
}

// states returns the state of each site that the run has hosts of, and of each reported site. It is nil while NATS is out of reach.
func (w *attendance) states() map[string]*siteState {
	if !w.queue.Connected() { // which is reported
		w.reachedSince()
		return nil
	}
	all := map[string]*siteState{}
	for site := range w.reported {
		all[site] = &siteState{}
	}
	absent := map[string]map[string]string{} // by site, and by worker
	w.ledger.each(func(s *shard) {
		one := all[s.site]
		if one == nil {
			one = &siteState{}
			all[s.site] = one
		}
		since, h := s.since, s.current
		if h == nil {
			h = s.last
		}
		if s.current != nil && h.returned.IsZero() && w.silenceOf(h) < w.silence {
			one.served = h.worker
			return
		}
		if h != nil {
			what := "was stopped at "
			if since = h.returned; since.IsZero() {
				since, what = h.errands.lastRequest(), "was lost, last heard at "
			}
			if absent[s.site] == nil {
				absent[s.site] = map[string]string{}
			}
			absent[s.site][h.worker] = "worker " + h.worker + " " + what + since.Local().Format(time.TimeOnly)
		}
		if since.After(one.since) {
			one.since = since
		}
		for host, t := range s.turns {
			one.hosts = append(one.hosts, host)
			t.waits(s.site)
		}
	})
	for site, one := range all {
		if tried := w.routes.triedOf(site); len(one.hosts) > 0 && len(tried) > 0 {
			one.hosts = slices.Clone(tried)
		}
		slices.Sort(one.hosts)
		one.hosts = slices.Compact(one.hosts)
		one.absent = slices.Sorted(maps.Values(absent[site]))
	}
	return all
}
