package dial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// openKnown reads the files that count for t. The error is a [transport.FileError].
func (d *Dialer) openKnown(t transport.Target) (*knownhosts.View, error) {
	view, err := d.files().known.Open(d.knownHosts(t))
	if e, ok := errors.AsType[*knownhosts.FileError](err); ok {
		setting := transport.SettingKnownHosts
		if e.Revoked {
			setting = transport.SettingRevoked
		}
		return nil, &transport.FileError{Setting: setting, Path: e.Path, Err: e.Err, Hint: e.Hint}
	}
	return view, err
}

// knownHosts returns the files that count for t.
func (d *Dialer) knownHosts(t transport.Target) knownhosts.Files {
	files := t.KnownHostsFiles(d.Home)
	files.FileDir = d.files().FileDir
	return files
}

// verify holds the key that the host has proven to own against known_hosts.
func (a *attempt) verify(ctx context.Context, key ssh.PublicKey) *transport.HostError {
	t := a.target
	if a.scan != nil {
		return t.Fail(transport.OpHostKey, &shownKey{key}, "")
	}
	err := a.known.Check(t.KnownHost(), key)
	if errors.Is(err, transport.ErrHostKeyUnknown) && t.HostKeys == transport.AcceptNew && !knownhosts.IsCertificate(key.Type()) {
		err = a.known.Accept(ctx, t.KnownHost(), key)
	}
	if err == nil {
		return nil
	}
	return t.Fail(transport.OpHostKey, err, a.hostKeyHint(err, key))
}

func (a *attempt) hostKeyHint(err error, key ssh.PublicKey) string {
	changed, ok := errors.AsType[*knownhosts.ChangedError](err)
	switch {
	case ok:
		return changedHint(changed, "connect")
	case !errors.Is(err, transport.ErrHostKeyUnknown):
		return ""
	case a.authority(key) != "":
		return fmt.Sprintf("sign its certificate again for %s with the authority in %s; do not trust the key itself", a.target.KnownHost().Principal, a.authority(key))
	case a.dialer.TrustHint != nil:
		return a.dialer.TrustHint(a.target, knownhosts.PlainKey(key))
	case a.known.AddTo() == "":
		return noOwnFile
	}
	line := a.target.KnownHost().Line(knownhosts.PlainKey(key))
	return fmt.Sprintf("compare the fingerprint, then trust the key: echo '%s' >> %s", line, transport.ShellWord(a.known.AddTo()))
}

// authority returns the place FILE:LINE of the authority that has signed the certificate key, or "" if key is not a
// certificate.
func (a *attempt) authority(key ssh.PublicKey) string {
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return ""
	}
	return a.known.Authority(a.target.KnownHost(), cert)
}

const noOwnFile = "name a known_hosts file of your own, to which the key can be added"

// changedHint returns the steps after which wanted can be repeated with a changed key.
func changedHint(e *knownhosts.ChangedError, wanted string) string {
	return "if the host was reinstalled, remove the line " + strings.Join(e.Lines, " and the line ") + " and " + wanted + " again; if not, do not connect: another machine may use the address of the host"
}

// hostKeyAlgorithms returns the configured algorithms that are supported. By default, the algorithms of the known keys
// come first.
func (a *attempt) hostKeyAlgorithms() []string {
	if a.scan != nil {
		return a.scan
	}
	known, wanted := a.known.Algorithms(a.target.KnownHost()), a.target.Algorithms.HostKeys
	if wanted == nil {
		return known
	}
	supported := slices.Concat(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys)
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return !slices.Contains(supported, name) })
	if !a.target.Algorithms.HostKeysInAnyOrder {
		return wanted
	}
	first := slices.DeleteFunc(known, func(name string) bool { return !slices.Contains(wanted, name) })
	// Certificates are requested only if first contains them.
	rest := slices.DeleteFunc(wanted, func(name string) bool { return knownhosts.IsCertificate(name) || slices.Contains(first, name) })
	return slices.Concat(first, rest)
}

// checkAlgorithms refuses a list of which nothing is known: x/crypto would take an empty
// list for its defaults.
func checkAlgorithms(a transport.Algorithms) error {
	if a.KeyExchanges == nil && a.Ciphers == nil && a.MACs == nil && a.HostKeys == nil && a.PublicKeys == nil {
		return nil // as nearly always
	}
	safe, weak := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	for _, list := range []struct {
		what        string
		wanted      []string
		known, also []string
	}{
		{"key exchange", a.KeyExchanges, safe.KeyExchanges, weak.KeyExchanges},
		{"cipher", a.Ciphers, safe.Ciphers, weak.Ciphers},
		{"MAC", a.MACs, safe.MACs, weak.MACs},
		{"host key algorithm", a.HostKeys, safe.HostKeys, weak.HostKeys},
		{"public key algorithm", a.PublicKeys, safe.PublicKeyAuths, weak.PublicKeyAuths},
	} {
		if list.wanted == nil {
			continue
		}
		known := func(name string) bool {
			name = knownhosts.PlainAlgorithm(name)
			return slices.Contains(list.known, name) || slices.Contains(list.also, name)
		}
		if !slices.ContainsFunc(list.wanted, known) {
			return fmt.Errorf("no %s can be offered: none of %q is supported; supported: %s", list.what, list.wanted, strings.Join(list.known, ", "))
		}
	}
	return nil
}

// KnownHosts returns the text of a known_hosts file with the known keys of one host. Jump hosts are targets of their
// own.
func (d *Dialer) KnownHosts(t transport.Target) (string, error) {
	view, err := d.openKnown(t)
	if err != nil {
		return "", err
	}
	return view.Excerpt(t.KnownHost()), nil
}
