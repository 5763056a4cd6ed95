package reach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

// negotiation sets the allowed algorithms and login methods.
func (r *hostSettings) negotiation() error {
	methods, err := r.methods()
	if err != nil {
		return err
	}
	r.target.Methods = methods
	for _, list := range algorithmLists(&r.target.Algorithms) {
		spec := r.ssh.Text(list.option)
		if spec == "" {
			continue
		}
		at := r.ssh.Origin(list.option)
		names, unknown := list.assemble(spec)
		switch {
		case len(names) == 0:
			return &sshconfig.Error{At: at, Msg: fmt.Sprintf("%s %s selects no supported algorithm", list.option, spec), Hint: "supported are " + strings.Join(list.defaults, ", ")}
		case len(unknown) > 0 && r.ofUser(at):
			r.opts.warn(fmt.Sprintf("%s: %s: ignored, because they are not supported: %s", at, list.option, strings.Join(unknown, ", ")))
		}
		*list.into = names
		if list.option == sshconfig.HostKeyAlgorithms {
			r.target.Algorithms.HostKeysInAnyOrder = strings.IndexByte("+-", spec[0]) >= 0
		}
		r.note(strings.ToLower(list.option.String()), at, names...)
	}
	return nil
}

// ofUser reports whether a place is not in the files that a distribution writes,
// whose lists are made for OpenSSH.
func (r *hostSettings) ofUser(at string) bool {
	return !strings.HasPrefix(at, "/etc/ssh/") && !strings.HasPrefix(at, "/etc/crypto-policies/")
}

// methods returns the login methods; nil if ssh_config does not set them.
func (r *hostSettings) methods() ([]string, error) {
	known := []string{"publickey", "keyboard-interactive", "password"}
	options := []sshconfig.Option{sshconfig.PubkeyAuthentication, sshconfig.KbdInteractiveAuthentication, sshconfig.PasswordAuthentication}
	preferred := r.ssh.Text(sshconfig.PreferredAuthentications)
	methods, origin := known, r.ssh.Origin(sshconfig.PreferredAuthentications)
	if preferred != "" {
		methods = slices.DeleteFunc(strings.Split(preferred, ","), func(m string) bool { return !slices.Contains(known, m) })
	}
	restricted := preferred != ""
	for i, o := range options {
		if r.ssh.Text(o) == "no" {
			methods = slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m == known[i] })
			restricted, origin = true, cmp.Or(origin, r.ssh.Origin(o))
		}
	}
	switch {
	case !restricted:
		return nil, nil
	case len(methods) == 0:
		return nil, &sshconfig.Error{At: origin, Msg: "no login method remains", Hint: "supported: " + strings.Join(known, ", ")}
	}
	r.note("methods", origin, methods...)
	return methods, nil
}

// An algorithmList is one that ssh_config can restrict.
type algorithmList struct {
	option         sshconfig.Option
	into           *[]string
	defaults, weak []string
}

// algorithmLists returns the lists of x/crypto. The caller must not change their names.
func algorithmLists(a *transport.Algorithms) []algorithmList {
	lists := supported()
	for i, into := range []*[]string{&a.KeyExchanges, &a.Ciphers, &a.MACs, &a.HostKeys, &a.PublicKeys} {
		lists[i].into = into
	}
	return lists[:]
}

// supported makes the lists once: they are the same for all hosts, and x/crypto copies
// its own each time.
var supported = sync.OnceValue(func() [5]algorithmList {
	safe, weak := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	return [...]algorithmList{
		{option: sshconfig.KexAlgorithms, defaults: safe.KeyExchanges, weak: weak.KeyExchanges},
		{option: sshconfig.Ciphers, defaults: safe.Ciphers, weak: weak.Ciphers},
		{option: sshconfig.MACs, defaults: safe.MACs, weak: weak.MACs},
		{option: sshconfig.HostKeyAlgorithms, defaults: safe.HostKeys, weak: weak.HostKeys},
		{option: sshconfig.PubkeyAcceptedAlgorithms, defaults: withCertificates(safe.PublicKeyAuths), weak: withCertificates(weak.PublicKeyAuths)},
	}
})

// withCertificates puts before each algorithm the one for certificates of its keys
// (PROTOCOL.certkeys of OpenSSH).
func withCertificates(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, knownhosts.CertificateAlgorithm(name), name)
	}
	return all
}

// assemble returns the algorithms of a list of ssh_config. An algorithm that x/crypto counts as insecure must be named:
// wildcards do not match it.
func (l algorithmList) assemble(spec string) (names, unknown []string) {
	names, unknown = sshconfig.Assemble(spec, l.defaults, slices.Concat(l.defaults, l.weak))
	named := strings.Split(strings.TrimLeft(spec, "+-^"), ",")
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(l.weak, name) && !slices.Contains(named, name)
	}), unknown
}
