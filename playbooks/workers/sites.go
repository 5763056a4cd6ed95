package workers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
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

// A siteState reports whether workers serve the hosts of a site that have not ended.
type siteState struct {
	served string   // name of a worker that has hosts of the site; empty if there is none
	hosts  []string // hosts that no worker has, in order
	absent []string // workers that had these hosts, in order, and what happened to them
	since  time.Time
}

// silent returns for how long a worker has been silent. While NATS was out of reach it could not be heard.
func (c *Coordinator) silent(h *handed) time.Duration {
	return min(h.errands.silent(), time.Since(c.reachedSince()))
}

// reachedSince returns since when NATS is reached, as far as is known.
func (c *Coordinator) reachedSince() time.Time {
	c.reach.Lock()
	defer c.reach.Unlock()
	if !c.Queue.Connected() {
		c.reached = time.Now()
	}
	return c.reached
}

// attend reports sites without a worker whose hosts wait, and sites that are served again, until the run is closed.
func (c *Coordinator) attend(ctx context.Context) {
	ticks := time.NewTicker(min(laterTime, c.silenceLimit()))
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-c.gone:
			return
		}
		for site, s := range c.siteStates() {
			c.attendSite(ctx, site, s)
		}
	}
}

func (c *Coordinator) silenceLimit() time.Duration { return cmp.Or(c.silence, silenceTime) }

// attendSite reports a site if its state has changed.
func (c *Coordinator) attendSite(ctx context.Context, site string, s *siteState) {
	known := c.unserved[site]
	limit := min(untakenTime, c.silenceLimit())
	now := fmt.Sprint(s.absent, s.since)
	switch {
	case len(s.hosts) == 0 && s.served == "": // all hosts have ended
		delete(c.unserved, site)
	case s.served != "":
		if known != "" {
			c.reportSite(events.SiteWaits{Site: site, Worker: s.served, Text: fmt.Sprintf("%s are served again, by worker %s", hostsOf(site), s.served)})
		}
		delete(c.unserved, site)
	case known == now || len(s.absent) == 0 && time.Since(s.since) < limit:
	default:
		if c.unserved == nil {
			c.unserved = map[string]string{}
		}
		c.unserved[site] = now
		c.reportSite(events.SiteWaits{Site: site, Hosts: s.hosts, Text: c.describe(ctx, site, s)})
	}
}

// reportSite warns here, and reports an event for programs that follow the run on other machines. An event is part of the run, so there is
// none before it has begun.
func (c *Coordinator) reportSite(e events.SiteWaits) {
	c.Warn(e.Text)
	if c.taking.Load() {
		c.Runner.Events.Report(e)
	}
}

// describe returns the warning about a site without a worker.
func (c *Coordinator) describe(ctx context.Context, site string, s *siteState) string {
	what := "no worker has taken them yet"
	if len(s.absent) > 0 {
		what = strings.Join(s.absent, "; ")
	}
	seen, hint := c.lookForWorkers(ctx, site)
	return fmt.Sprintf("%s wait for a worker since %s: %s; waiting: %s%s\n  hint: %s",
		hostsOf(site), s.since.Local().Format(time.TimeOnly), what, named(s.hosts), seen, hint)
}

// lookForWorkers reports which workers are connected while hosts of a site wait, and what to do.
func (c *Coordinator) lookForWorkers(ctx context.Context, site string) (seen, hint string) {
	hint = "start one: ccm-push worker --workers " + cmp.Or(c.URL, "URL")
	if site != "" {
		hint += " --site " + site
	}
	ring := c.Workers.Ring()
	all, unreadable, err := Present(ctx, c.Queue, c.Key, ring)
	if err != nil {
		return "", hint
	}
	all = slices.DeleteFunc(all, func(one Connected) bool { return one.age >= c.silenceLimit() })
	for _, one := range all {
		switch at := fmt.Sprintf("worker %s (%s, pid %d)", one.Name, one.Host, one.PID); {
		case one.Site != site:
		case !one.Listed:
			return fmt.Sprintf("; %s is connected, and its key is not on the list of workers", at), "if it may get hosts, add its key to " + listName(c.Workers, "--workers-list")
		case one.Refused:
			e := &siteError{ring[one.key], []string{site}}
			return fmt.Sprintf("; %s is connected, and %s", at, e.cause()), e.change()
		case one.Busy >= one.Capacity:
			return fmt.Sprintf("; %s is busy with %s of other runs", at, counted(one.Hosts)), "wait, or " + hint
		}
	}
	if unreadable > 0 {
		return fmt.Sprintf("; %d connected workers do not accept runs of this machine", unreadable),
			"add its key to coordinators.keys of the workers of this site: " + c.Key.Public()
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

// siteStates returns the state of each site that the run has hosts of, and of each reported site. It is nil while NATS is out of reach.
func (c *Coordinator) siteStates() map[string]*siteState {
	if !c.Queue.Connected() { // which is reported
		c.reachedSince()
		return nil
	}
	all := map[string]*siteState{}
	for site := range c.unserved {
		all[site] = &siteState{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	absent := map[string]map[string]string{} // by site, and by worker
	for _, s := range c.shards {
		one := all[s.site]
		if one == nil {
			one = &siteState{}
			all[s.site] = one
		}
		since, h := s.since, s.current
		if h == nil {
			h = s.last
		}
		if s.current != nil && h.left.IsZero() && c.silent(h) < c.silenceLimit() {
			one.served = h.worker
			continue
		}
		if h != nil {
			what := "was stopped at "
			if since = h.left; since.IsZero() {
				since, what = h.errands.heard(), "was lost, last heard at "
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
	}
	for site, one := range all {
		if len(one.hosts) > 0 && len(c.entering[site]) > 0 {
			one.hosts = slices.Clone(c.entering[site])
		}
		slices.Sort(one.hosts)
		one.hosts = slices.Compact(one.hosts)
		one.absent = slices.Sorted(maps.Values(absent[site]))
	}
	return all
}

// waits shows that a host waits for a worker of its site.
func (t *turn) waits(site string) {
	what := "waiting for a worker"
	if site != "" {
		what += " of site " + site
	}
	t.at(what)
}

// at shows the activity of a host.
func (t *turn) at(what string) {
	if t.At != nil {
		t.At(what)
	}
}

// lostEnd returns the end of a host whose worker was lost, or has not reported how the host ended: the outcome is unknown.
func (c *Coordinator) lostEnd(h *handed, t playbooks.Turn) playbooks.TurnEnd {
	end := c.failed(t, "lost", fmt.Sprintf("worker %s was lost, so the outcome on this host is unknown", h.worker), "the next run reports what was done there")
	end.Took = max(0, h.errands.heard().Sub(h.since))
	return end
}
