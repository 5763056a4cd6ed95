package dial

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

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
			return fmt.Errorf("no %s is left to offer: of %q none is supported, which are %s", list.what, list.wanted, strings.Join(list.known, ", "))
		}
	}
	return nil
}
