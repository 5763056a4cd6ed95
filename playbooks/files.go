package playbooks

import (
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// CheckFiles reads the private keys and known_hosts files that are needed to
// reach hosts. What is wrong with one is no host's fault: it is reported once,
// with the first place that names it.
func (r *Runner) CheckFiles(hosts []*inventory.Host) error {
	c := fileCheck{Runner: r, hosts: map[string]bool{}, files: map[string]bool{}}
	for _, h := range hosts {
		c.host(h)
	}
	return c.errs.Err()
}

type fileCheck struct {
	*Runner
	hosts map[string]bool // names of those that have been looked at
	files map[string]bool // paths of those that have been reported
	errs  yamlpos.Errors
}

// host checks the files for a host, and for those on the way to it.
func (c *fileCheck) host(h *inventory.Host) {
	if h == nil || c.hosts[h.Name] {
		return
	}
	c.hosts[h.Name] = true
	conn := h.Connection()
	for _, e := range c.Dialer.CheckFiles(c.Connect.direct(h.Name, conn)) {
		if !c.files[e.Path] {
			c.files[e.Path] = true
			c.errs.Add(&yamlpos.Error{File: c.Connect.namedAt(e.Setting, conn), Msg: e.Error(), Hint: e.Hint})
		}
	}
	for _, hop := range conn.Jump {
		c.host(c.Inventory.Host(hop.Host))
	}
}

// namedAt is the place that names the files of a setting.
func (c Connect) namedAt(setting string, conn inventory.Connection) string {
	switch {
	case setting == "private_key" && len(c.PrivateKeys) > 0:
		return "command line: --private-key"
	case setting == "known_hosts" && len(c.KnownHosts) > 0:
		return "command line: --known-hosts"
	}
	return conn.Pos[setting]
}
