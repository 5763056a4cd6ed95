package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// A siteError reports that the line of a worker does not allow it hosts of some sites.
type siteError struct {
	line  Entry
	sites []string
}

// cause returns what the line allows.
func (e *siteError) cause() string {
	return e.line.where() + " allows only " + hostsOfAll(e.line.Sites)
}

// change returns what to write.
func (e *siteError) change() string {
	option, err := SiteOption(slices.Concat(e.line.Sites, e.sites)...)
	if err != nil {
		return err.Error()
	}
	return "if it may get them, write before its key: " + option
}

func (e *siteError) Error() string { return e.cause() + "; " + e.change() }

func hostsOfAll(sites []string) string {
	var parts []string
	for _, site := range sites {
		parts = append(parts, hostsOf(site))
	}
	return strings.Join(parts, " and ")
}

// where names the line for messages.
func (e Entry) where() string {
	if e.At == "" {
		return "its line in the list of workers"
	}
	return e.At
}

var errNotListed = errors.New("its key is no longer on the list of workers")

// permits returns the line of a worker, or why the worker may not get certificates for hosts: the line has to allow their sites, and the
// sites of the jump hosts on the way. The list is read again if it has changed, so the caller uses this line for all other limits.
func (c *Coordinator) permits(key string, hosts ...string) (Entry, error) {
	line, listed := c.Workers.Ring()[key]
	if !listed {
		return line, errNotListed
	}
	if len(line.Sites) == 0 {
		return line, nil
	}
	var missing []string
	for _, name := range hosts {
		h := c.Runner.Inventory.Host(name)
		sites := []string{c.site(name)}
		if target, err := c.Runner.Connect.Target(c.Runner.Inventory, h, h.Connection()); err == nil { // else it is refused for that
			for _, jump := range target.Jump {
				sites = append(sites, c.sitesOn(jump, h)...)
			}
		}
		for _, site := range sites {
			if !line.allows(site) && !slices.Contains(missing, site) {
				missing = append(missing, site)
			}
		}
	}
	if len(missing) == 0 {
		return line, nil
	}
	return line, &siteError{line, missing}
}

// sitesOn returns the sites of a target on the way to a host: a jump host may be of another one.
func (c *Coordinator) sitesOn(target transport.Target, h *inventory.Host) []string {
	sites := []string{c.site(h.Name)}
	if c.Runner.Inventory.Host(target.Host) != nil {
		sites = append(sites, c.site(target.Host))
	}
	return sites
}

// limit refuses hosts that the line of a worker does not allow, and cuts the addresses that the worker names. It reports whether the
// worker may get the hosts.
func (c *Coordinator) limit(who, key string, turns []playbooks.Turn, q *question, a *answer) bool {
	var hosts []string
	for _, t := range turns {
		hosts = append(hosts, t.Host)
	}
	refuse := func(what, cause, change string) bool {
		text := "the worker " + who + " was refused" + what + ": " + cause
		if change != "" {
			text += "\n  hint: " + change
		}
		c.warnOfRefused(text)
		return false
	}
	line, err := c.permits(key, hosts...)
	if e, is := errors.AsType[*siteError](err); is {
		a.Refused = "its line in the list of workers there does not allow " + hostsOfAll(e.sites)
		return refuse(" "+hostsOfAll(e.sites), e.cause(), e.change())
	}
	if err != nil {
		a.Refused = err.Error()
		return refuse("", a.Refused, "")
	}
	sources, ok := line.sources(q.Addresses)
	if !ok {
		a.Refused = "its line in the list of workers there allows none of the addresses that it names (--worker-address)"
		return refuse("", line.where()+" allows none of the addresses that it names (--worker-address)", fmt.Sprintf("it names %v; if it comes from there, add them to from=", q.Addresses))
	}
	q.Addresses = sources
	c.warnIfUnlimited(who, key, line, turns)
	return true
}

// warnIfUnlimited warns once of a line without a site, if there are sites.
func (c *Coordinator) warnIfUnlimited(who, key string, line Entry, turns []playbooks.Turn) {
	if len(line.Sites) > 0 || len(turns) == 0 {
		return
	}
	site := c.site(turns[0].Host)
	public, err := ssh.ParsePublicKey([]byte(key))
	if err != nil || !slices.ContainsFunc(c.Runner.Inventory.Hosts(), func(h *inventory.Host) bool { return playbooks.SiteOf(h) != "" }) {
		return
	}
	text, err := Entry{Name: who, Sites: []string{site}, From: line.From}.text(public)
	if err != nil {
		return
	}
	c.unlimited.Do(func() {
		c.Warn(fmt.Sprintf("%s: the worker %s may get hosts of every site\n  hint: if it may get only %s, write this line: %s", line.where(), who, hostsOf(site), text))
	})
}

// renewable returns what the next certificate of a worker is for, by its line as it is now. An error takes its hosts away.
func (c *Coordinator) renewable(ctx context.Context, h *handed, of Certificate, lent string) (Certificate, error) {
	hosts := []string{lent}
	if lent == "" {
		hosts = nil
		for host := range h.hosts {
			hosts = append(hosts, host)
		}
		slices.Sort(hosts)
	}
	line, err := c.permits(h.key, hosts...)
	if err == nil {
		var ok bool
		if of.Sources, ok = line.sources(of.Sources); !ok {
			err = errors.New(line.where() + " allows none of the addresses to which its certificate is bound")
		}
	}
	if err != nil {
		c.warnOfRefused(fmt.Sprintf("the worker %s gets no other certificate: %v", h.worker, err))
	}
	if err != nil && lent == "" {
		c.giveToOthers(ctx, h, func(one *handed) bool { return one == h }, "its line in the list of workers has changed")
	}
	return of, err
}

// takeFrom takes shards from workers, and returns them with the hosts that were watched.
func (c *Coordinator) takeFrom(which func(*handed) bool) (shards []*shard, watched []*turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shards {
		one := s.current
		if one == nil || !which(one) {
			continue
		}
		one.over = time.Now()
		s.current, s.last, s.lost, s.since = nil, nil, true, one.over
		for _, t := range s.turns {
			c.toldOf(t.Turn).again()
			t.waits(s.site)
		}
		shards, watched = append(shards, s), append(watched, s.watched()...)
	}
	return shards, watched
}

// giveToOthers takes shards from the worker of h, and submits them again for other workers. Hosts on which a command may have run that
// keeps no notes fail.
func (c *Coordinator) giveToOthers(ctx context.Context, h *handed, which func(*handed) bool, why string) {
	shards, watched := c.takeFrom(which)
	c.unwatched(watched, why, othersGoOn, h.errands.heard())
	for _, s := range shards {
		var turns []playbooks.Turn
		c.mu.Lock()
		stopped := c.stopped
		for _, t := range s.turns {
			turns = append(turns, t.Turn)
		}
		c.mu.Unlock()
		if stopped || c.mayHaveRun(turns) {
			c.lose(s)
			continue
		}
		if err := c.submit(context.WithoutCancel(ctx), s); err != nil {
			c.fail(s, err.Error())
		}
	}
}
