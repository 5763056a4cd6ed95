package transport

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// GlobalKnownHosts is the file that OpenSSH reads for all users.
const GlobalKnownHosts = "/etc/ssh/ssh_known_hosts"

// KnownHostsFiles are the files that count for the host.
func (t Target) KnownHostsFiles(home string) knownhosts.Files {
	paths, global := t.KnownHosts, t.GlobalKnownHosts
	if len(paths) == 0 {
		if home != "" {
			paths = []string{filepath.Join(home, ".ssh/known_hosts")}
		}
		if global == nil {
			global = []string{GlobalKnownHosts}
		}
	}
	var files knownhosts.Files
	for _, f := range slices.Concat(paths, global) {
		files.Read = append(files.Read, ExpandHome(f, home))
	}
	if len(paths) > 0 {
		files.Own = files.Read[0]
	}
	files.Revoked = ExpandHome(t.RevokedHostKeys, home)
	return files
}

// KnownHost is what known_hosts and certificates call the host: its alias, which has no
// port, or its address, with the port in known_hosts if that is not 22.
func (t Target) KnownHost() knownhosts.Host {
	h := knownhosts.Host{Name: knownhosts.NormalName(t.Addr()), Principal: t.Address, Hidden: t.HashKnownHosts}
	if t.HostKeyAlias != "" {
		h.Name, h.Principal = t.HostKeyAlias, t.HostKeyAlias
	}
	h.Name = strings.ToLower(h.Name)
	return h
}

// KnownName is what known_hosts calls the host: its alias, or its address, as
// [address]:port if the port is not 22.
func (t Target) KnownName() string { return t.KnownHost().Name }
