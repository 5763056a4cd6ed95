package workers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

// A siteError reports that the line of a worker does not allow it hosts of some sites.
type siteError struct {
	line  keyring.Entry
	sites []string
}

// cause returns what the line allows.
func (e *siteError) cause() string {
	return e.line.Where() + " allows only " + hostsOfAll(e.line.Sites)
}

// change returns what to write.
func (e *siteError) change() string {
	option, err := keyring.SiteOption(slices.Concat(e.line.Sites, e.sites)...)
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

var errNotListed = errors.New("its key is no longer on the list of workers")

// admission applies the list of workers: which worker gets hosts, and for which addresses it gets certificates.
type admission struct {
	workers keyring.Keys
	routes  *routes
	warn    func(string)

	refusals  outages   // reported refusals
	unlimited sync.Once // the warning about a line without a site
}

// warnOnce warns once of a refused worker, which tries again and again.
func (m *admission) warnOnce(text string) {
	if m.refusals.isNew(refusals, errors.New(text)) {
		m.warn(text)
	}
}

// permits returns the line of a worker, or why the worker may not get certificates for hosts: the line has to allow their sites, and the
// sites of the jump hosts on the way. The list is read again if it has changed, so the caller uses this line for all other limits.
func (m *admission) permits(key string, hosts ...string) (keyring.Entry, error) {
	line, listed := m.workers.Ring()[key]
	if !listed {
		return line, errNotListed
	}
	if len(line.Sites) == 0 {
		return line, nil
	}
	var missing []string
	for _, name := range hosts {
		h := m.routes.runner.Inventory.Host(name)
		sites := []string{m.routes.site(name)}
		if target, err := m.routes.target(h); err == nil { // the route reports the error
			for _, jump := range target.Jump {
				sites = append(sites, m.routes.sitesOn(jump, h)...)
			}
		}
		for _, site := range sites {
			if !line.Allows(site) && !slices.Contains(missing, site) {
				missing = append(missing, site)
			}
		}
	}
	if len(missing) == 0 {
		return line, nil
	}
	return line, &siteError{line, missing}
}

// limit refuses hosts that the line of a worker does not allow, and cuts the addresses that the worker names. It reports whether the
// worker may get the hosts.
func (m *admission) limit(who, key string, turns []playbooks.Turn, q *question, a *answer) bool {
	var hosts []string
	for _, t := range turns {
		hosts = append(hosts, t.Host)
	}
	refuse := func(what, cause, change string) bool {
		text := "the worker " + who + " was refused" + what + ": " + cause
		if change != "" {
			text += "\n  hint: " + change
		}
		m.warnOnce(text)
		return false
	}
	line, err := m.permits(key, hosts...)
	if e, is := errors.AsType[*siteError](err); is {
		a.Refused = "the list of workers there does not allow this worker " + hostsOfAll(e.sites)
		return refuse(" "+hostsOfAll(e.sites), e.cause(), e.change())
	}
	if err != nil {
		a.Refused = err.Error()
		return refuse("", a.Refused, "")
	}
	sources, ok := line.Sources(q.Addresses)
	if !ok {
		a.Refused = "the list of workers there allows none of the addresses of this worker (--worker-address)"
		return refuse("", line.Where()+" allows none of the addresses that it names (--worker-address)", fmt.Sprintf("it names %v; if it comes from there, add them to from=", q.Addresses))
	}
	q.Addresses = sources
	m.warnIfUnlimited(who, key, line, turns)
	return true
}

// warnIfUnlimited warns once of a line without a site, if there are sites.
func (m *admission) warnIfUnlimited(who, key string, line keyring.Entry, turns []playbooks.Turn) {
	if len(line.Sites) > 0 || len(turns) == 0 {
		return
	}
	site := m.routes.site(turns[0].Host)
	public, err := ssh.ParsePublicKey([]byte(key))
	if err != nil || !slices.ContainsFunc(m.routes.runner.Inventory.Hosts(), func(h *inventory.Host) bool { return playbooks.SiteOf(h) != "" }) {
		return
	}
	text, err := keyring.Entry{Name: who, Sites: []string{site}, From: line.From}.Text(public)
	if err != nil {
		return
	}
	m.unlimited.Do(func() {
		m.warn(fmt.Sprintf("%s: the worker %s may get hosts of every site\n  hint: if the worker may get only %s, write this line: %s", line.Where(), who, hostsOf(site), text))
	})
}

// renewable returns the limits of the next certificate of a worker, from its current line in the list. lent names a
// lent host; empty means the hosts of the worker.
func (m *admission) renewable(h *assignment, certified Certificate, lent string) (Certificate, error) {
	hosts := []string{lent}
	if lent == "" {
		hosts = nil
		for host := range h.hosts {
			hosts = append(hosts, host)
		}
		slices.Sort(hosts)
	}
	line, err := m.permits(h.key, hosts...)
	if err == nil {
		var ok bool
		if certified.Sources, ok = line.Sources(certified.Sources); !ok {
			err = errors.New(line.Where() + " allows none of the addresses to which its certificate is bound")
		}
	}
	if err != nil {
		m.warnOnce(fmt.Sprintf("the worker %s gets no other certificate: %v", h.worker, err))
	}
	return certified, err
}
