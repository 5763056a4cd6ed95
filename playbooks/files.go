package playbooks

import (
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
	"github.com/ccm-push/ccm-push/transport/start"
)

// CheckReach reports the inventory's settings for reaching hosts that are not supported, each once with its hosts, and
// passwords that cannot be opened.
func (r *Runner) CheckReach(hosts []*inventory.Host) error {
	var refused byHosts
	met := map[*inventory.Host]bool{}
	sealed := map[*inventory.Host][]*yamlpos.Node{}
	for _, h := range hosts {
		if met[h] {
			continue
		}
		met[h] = true
		conn := h.Connection()
		refused.add(h, r.Connect.Refused(r.Inventory, h, conn))
		if list := r.Connect.SealedPasswords(r.Inventory, conn); len(list) > 0 {
			sealed[h] = list
		}
	}
	yamlpos.OpenAll(slices.Concat(slices.Collect(maps.Values(sealed))...))
	for h, list := range sealed {
		for _, n := range list {
			refused.add(h, reach.CheckSealed(n))
		}
	}
	return refused.err(0)
}

// CheckFiles resolves the connection settings of hosts, and reads their private keys and known_hosts files. Faults of
// these files or of ssh_config are not faults of a host: each is reported once, with the first place that names it.
// Hosts that [Runner.CheckReach] reports are skipped.
func (r *Runner) CheckFiles(hosts []*inventory.Host) error {
	c := fileCheck{runner: r, hosts: map[string]bool{}, files: map[string]bool{}}
	for _, h := range hosts {
		if !c.hosts[h.Name] {
			c.hosts[h.Name] = true
			c.host(h)
		}
	}
	return c.errs.Err()
}

type fileCheck struct {
	runner *Runner
	hosts  map[string]bool // names of checked hosts
	files  map[string]bool // paths of reported files, and other mistakes
	errs   yamlpos.Errors
}

// host checks the files for a host, and for those on the route to it.
func (c *fileCheck) host(h *inventory.Host) {
	conn := h.Connection()
	if len(c.runner.Connect.Refused(c.runner.Inventory, h, conn)) > 0 {
		return
	}
	c.becomePassword(conn)
	target, err := c.runner.Connect.Target(c.runner.Inventory, h, conn)
	if err != nil {
		c.config(err)
		return
	}
	for i, t := range append(slices.Clip(target.Jump), target) {
		for _, e := range c.runner.Dialer.CheckFiles(t) {
			if !c.files[e.Path] {
				c.files[e.Path] = true
				c.errs.Add(&yamlpos.Error{File: c.namedAt(h, i, e), Msg: e.Error(), Hint: e.Hint})
			}
		}
	}
}

// config reports mistakes of ssh_config, each once.
func (c *fileCheck) config(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			c.config(one)
		}
		return
	}
	if c.files[err.Error()] {
		return
	}
	c.files[err.Error()] = true
	if e, ok := err.(*sshconfig.Error); ok {
		err = &yamlpos.Error{File: e.At, Msg: e.Msg, Hint: e.Hint}
	}
	c.errs.Add(err)
}

// becomePassword reports a password that no prompt would take.
func (c *fileCheck) becomePassword(conn inventory.Connection) {
	p := c.runner.Connect.PasswordToBecome(conn)
	if p == nil {
		return
	}
	place := conn.Pos["become_password"]
	if c.runner.Connect.BecomePassword != nil {
		place = "command line: -K"
	}
	if err := start.CheckBecomePassword(p); err != nil && !c.files[place] {
		c.files[place] = true
		c.errs.Add(&yamlpos.Error{File: place, Msg: err.Error()})
	}
}

// namedAt is the place that names a file of the nth host on the route to h.
func (c *fileCheck) namedAt(h *inventory.Host, n int, e *transport.FileError) string {
	reached, err := c.runner.Connect.Explain(c.runner.Inventory, h)
	if err != nil {
		return ""
	}
	settings := append(slices.Clip(reached.Jump), reached)[n].Settings
	for _, s := range settings {
		if s.Setting == e.Setting {
			return s.Origin
		}
	}
	return ""
}
