package workers

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// routes finds how workers log in to hosts: targets, host keys and certificates.
type routes struct {
	runner    *playbooks.Runner
	authority *authority

	mu sync.Mutex
	// tried holds the hosts of each site while [Coordinator.Enter] tries some of them; nil later.
	tried map[string][]string
	// unbound holds, by site, a host that refused a certificate for its site alone before the run.
	unbound map[string]string
}

// A route has the data with which a worker logs in to hosts.
type route struct {
	inventory   inventory.Part
	targets     map[string]reach.WireTarget
	knownHosts  string
	certificate certificate
	certified   Certificate
}

// site returns the site of a host in the inventory; empty means none.
func (r *routes) site(host string) string { return playbooks.SiteOf(r.runner.Inventory.Host(host)) }

// target returns how a host is reached.
func (r *routes) target(h *inventory.Host) (transport.Target, error) {
	return r.runner.Connect.Target(r.runner.Inventory, h, h.Connection())
}

// reachable returns the site of a host. The error contains the reason why no worker can reach the host.
func (r *routes) reachable(host string) (site string, err error) {
	target, err := r.target(r.runner.Inventory.Host(host))
	if err != nil {
		return "", err
	}
	if _, err := reach.NewWireTarget(target); err != nil {
		return "", err
	}
	return r.site(host), nil
}

// sitesOn returns the sites of a target on the route to a host: a jump host can have another site.
func (r *routes) sitesOn(target transport.Target, h *inventory.Host) []string {
	sites := []string{r.site(h.Name)}
	if r.runner.Inventory.Host(target.Host) != nil {
		sites = append(sites, r.site(target.Host))
	}
	return sites
}

// to returns the route to hosts for the holder of a key, with a certificate that has the limits of certified and is for these hosts.
func (r *routes) to(ctx context.Context, certified Certificate, hosts []*inventory.Host) (w route, err error) {
	w.targets, w.certified = map[string]reach.WireTarget{}, certified
	principals, known := map[string]bool{}, map[string]bool{}
	for _, h := range hosts {
		target, err := r.target(h)
		if err != nil {
			return w, err
		}
		w.certified.Jumps = w.certified.Jumps || len(target.Jump) > 0
		for _, one := range append(slices.Clone(target.Jump), target) {
			for _, name := range r.principals(one, h) {
				principals[name] = true
			}
			lines, err := r.runner.Dialer.KnownHosts(one)
			if err != nil {
				return w, err
			}
			if !known[lines] {
				known[lines] = true
				w.knownHosts += lines
			}
		}
		if w.targets[h.Name], err = reach.NewWireTarget(target); err != nil {
			return w, err
		}
	}
	w.inventory = r.runner.Inventory.Part(hosts, func(h *inventory.Host) string { return w.targets[h.Name].User })
	w.certified.Principals = slices.Sorted(maps.Keys(principals))
	w.certificate, err = r.authority.certificate(ctx, w.certified)
	return w, err
}

// principals returns the principals by which a worker logs in to a target on the route to a host. A host that does not know sites
// accepts only the account itself; before the run one host is tried without the account.
func (r *routes) principals(target transport.Target, h *inventory.Host) (list []string) {
	sites := r.sitesOn(target, h)
	for _, site := range sites {
		if p := usercert.Principal(target.User, site); p != "" {
			list = append(list, p)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(list) == 0 || r.tried == nil || r.unbound[sites[0]] != "" {
		list = append(list, target.User)
	}
	return list
}

// loginKeys returns the private key files that log in to hosts from here.
func (r *routes) loginKeys() (paths []string) {
	known := map[string]bool{}
	for _, h := range r.runner.Inventory.Hosts() {
		target, err := r.target(h)
		if err != nil { // its turn fails with this error
			continue
		}
		for _, t := range append(target.Jump, target) {
			for _, path := range t.PrivateKeys {
				if path = transport.ExpandHome(path, r.runner.Dialer.Home); !known[path] {
					known[path] = true
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// try notes the candidates for a trial, by site; some of them are tried. nil ends the trial.
func (r *routes) try(bySite map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried = bySite
}

// triedOf returns the hosts of a site during the trial.
func (r *routes) triedOf(site string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried[site]
}

// unbind notes that a host refused a certificate for its site alone, and reports whether to try the host again as one that does not know
// sites. A host that refuses that, too, refuses the authority.
func (r *routes) unbind(site, host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unbound[site] == host || usercert.Principal("", site) == "" {
		delete(r.unbound, site)
		return false
	}
	if r.unbound == nil {
		r.unbound = map[string]string{}
	}
	r.unbound[site] = host
	return true
}

// isUnbound reports whether a host accepts workers of any site.
func (r *routes) isUnbound(site, host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unbound[site] == host
}
