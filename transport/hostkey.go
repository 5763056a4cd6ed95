package transport

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/keys"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// GlobalKnownHosts is the file that OpenSSH reads for all users.
const GlobalKnownHosts = "/etc/ssh/ssh_known_hosts"

// knownHosts gives the files that count for the host.
func (t Target) knownHosts(home string) knownhosts.Files {
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
		files.Read = append(files.Read, expand(f, home))
	}
	if len(paths) > 0 {
		files.Own = files.Read[0]
	}
	files.Revoked = expand(t.RevokedHostKeys, home)
	return files
}

// known is what known_hosts and certificates call the host: its alias, which has no
// port, or its address, with the port in known_hosts if that is not 22.
func (t Target) known() knownhosts.Host {
	h := knownhosts.Host{Name: knownhosts.NormalName(t.addr()), Principal: t.Address, Hidden: t.HashKnownHosts}
	if t.HostKeyAlias != "" {
		h.Name, h.Principal = t.HostKeyAlias, t.HostKeyAlias
	}
	h.Name = strings.ToLower(h.Name)
	return h
}

// KnownName is what known_hosts calls the host: its alias, or its address, as
// [address]:port if the port is not 22.
func (t Target) KnownName() string { return t.known().Name }

// openKnown reads the files that count for t. The error is a [FileError].
func (d *Dialer) openKnown(t Target) (*knownhosts.View, error) {
	view, err := d.known.Open(t.knownHosts(d.Home))
	if e, ok := errors.AsType[*knownhosts.FileError](err); ok {
		setting := settingKnownHosts
		if e.Revoked {
			setting = settingRevoked
		}
		return nil, &FileError{Setting: setting, Path: e.Path, Err: e.Err, Hint: e.Hint}
	}
	return view, err
}

// verify holds the key that the host has proven to own against known_hosts.
func (l *login) verify(ctx context.Context, key ssh.PublicKey) *HostError {
	t := l.target
	if l.scan != nil {
		return t.Fail(OpHostKey, &shownKey{key}, "")
	}
	err := l.known.Check(t.known(), key)
	if errors.Is(err, ErrHostKeyUnknown) && t.HostKeys == AcceptNew && !keys.IsCertificate(key.Type()) {
		err = l.known.Accept(ctx, t.known(), key)
	}
	if err == nil {
		return nil
	}
	return t.Fail(OpHostKey, err, l.hostKeyHint(err, key))
}

func (l *login) hostKeyHint(err error, key ssh.PublicKey) string {
	changed, ok := errors.AsType[*knownhosts.ChangedError](err)
	switch {
	case ok:
		return changedHint(changed, "connect")
	case !errors.Is(err, ErrHostKeyUnknown):
		return ""
	case l.authority(key) != "":
		return fmt.Sprintf("have its certificate signed anew for %s by the authority in %s; to trust the key by itself would go around that", l.target.known().Principal, l.authority(key))
	case l.dialer.TrustHint != nil:
		return l.dialer.TrustHint(l.target, keys.Plain(key))
	case l.known.Own() == "":
		return noOwnFile
	}
	line := l.target.known().Line(keys.Plain(key))
	return fmt.Sprintf("compare the fingerprint, then trust it: echo '%s' >> %s", line, ShellWord(l.known.Own()))
}

// authority is where the authority for the host stands that a key has a certificate
// of, FILE:LINE, and "" without one.
func (l *login) authority(key ssh.PublicKey) string {
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return ""
	}
	return l.known.Authority(l.target.known(), cert)
}

const noOwnFile = "name a known_hosts file of your own, to which the key can be added"

// changedHint says what to do about a key that has changed, before what is wanted can
// be done again.
func changedHint(e *knownhosts.ChangedError, wanted string) string {
	return "if the host was set up anew, remove " + strings.Join(e.Lines, " and ") + " and " + wanted + " again; if not, someone else answers in its place"
}

// hostKeyAlgorithms are those asked for that are supported, or else those of the
// keys that are known.
func (l *login) hostKeyAlgorithms() []string {
	if l.scan != nil {
		return l.scan
	}
	known, wanted := l.known.Algorithms(l.target.known()), l.target.Algorithms.HostKeys
	if wanted == nil {
		return known
	}
	supported := slices.Concat(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys)
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return !slices.Contains(supported, name) })
	if !l.target.Algorithms.HostKeysInAnyOrder {
		return wanted
	}
	first := slices.DeleteFunc(known, func(name string) bool { return !slices.Contains(wanted, name) })
	// Certificates are asked for only where first has them.
	rest := slices.DeleteFunc(wanted, func(name string) bool { return keys.IsCertificate(name) || slices.Contains(first, name) })
	return slices.Concat(first, rest)
}
