package usercert

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// A Request describes exactly what a certificate allows.
type Request struct {
	Key        ssh.PublicKey
	ID         string        // key id, which sshd logs
	Principals []string      // accounts that it is good for; at least one
	ValidFor   time.Duration // from now on, in whole seconds
	// ForceCommand is the only allowed command; empty allows any.
	ForceCommand string
	// SourceAddresses are the addresses of allowed clients; empty means all.
	SourceAddresses []netip.Prefix
	// Extensions are the permissions in addition to running commands, such as permit-port-forwarding, which a jump host
	// needs.
	Extensions []string
}

// The critical options of user certificates (PROTOCOL.certkeys).
const (
	forceCommand  = "force-command"
	sourceAddress = "source-address"
)

func (r Request) validate() error {
	switch {
	case r.Key == nil:
		return errors.New("no key to certify")
	case knownhosts.IsCertificate(r.Key.Type()):
		return errors.New("a certificate cannot be certified")
	case len(r.Principals) == 0: // sshd would refuse the certificate
		return errors.New("no account is given for the certificate")
	case r.ValidFor < time.Second:
		return fmt.Errorf("a certificate cannot be valid for %s", r.ValidFor)
	}
	for _, word := range slices.Concat(r.Principals, r.Extensions, []string{r.ID}) {
		if word == "" || strings.ContainsAny(word, " ,\t\n\r\x00") {
			return fmt.Errorf("%q is not allowed in a certificate: it is empty, or has a blank or a comma", word)
		}
	}
	return nil
}

// criticalOptions returns the critical options of the certificate.
func (r Request) criticalOptions() map[string]string {
	options := map[string]string{}
	if r.ForceCommand != "" {
		options[forceCommand] = r.ForceCommand
	}
	if len(r.SourceAddresses) > 0 {
		options[sourceAddress] = r.sources()
	}
	return options
}

// sources is the value of source-address.
func (r Request) sources() string {
	texts := make([]string, len(r.SourceAddresses))
	for i, a := range r.SourceAddresses {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}

// extensions returns the extensions of the certificate.
func (r Request) extensions() map[string]string {
	all := make(map[string]string, len(r.Extensions))
	for _, name := range r.Extensions {
		all[name] = ""
	}
	return all
}

// clockSkew is the largest allowed difference between the clocks of authority, controller and hosts.
const clockSkew = 5 * time.Minute

// check compares a certificate with the request. An authority may have rules of its own, and omit a restriction.
func (r Request) check(cert *ssh.Certificate, now time.Time) error {
	checker := ssh.CertChecker{
		Clock:                    func() time.Time { return now },
		SupportedCriticalOptions: []string{forceCommand, sourceAddress},
	}
	switch {
	case cert.CertType != ssh.UserCert:
		return errors.New("it is the certificate of a host, not of a user")
	case !knownhosts.SameKey(cert.Key, r.Key):
		return errors.New("it is for another key")
	case !sameWords(cert.ValidPrincipals, r.Principals):
		return fmt.Errorf("it is for %q, expected %q", cert.ValidPrincipals, r.Principals)
	case cert.Signature.Format == ssh.KeyAlgoRSA:
		return errors.New("it is signed with SHA-1")
	case !maps.Equal(cert.CriticalOptions, r.criticalOptions()):
		return fmt.Errorf("its options are %s, expected %s", listed(cert.CriticalOptions), listed(r.criticalOptions()))
	case !maps.Equal(cert.Extensions, r.extensions()):
		return fmt.Errorf("its extensions are %s, expected %s", listed(cert.Extensions), listed(r.extensions()))
	case cert.ValidBefore > uint64(now.Add(r.ValidFor+clockSkew).Unix()):
		return fmt.Errorf("it is valid for longer than %s", r.ValidFor)
	}
	return checker.CheckCert(r.Principals[0], cert)
}

func sameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// listed is a map of options for an error.
func listed(options map[string]string) string {
	if len(options) == 0 {
		return "none"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		words = append(words, fmt.Sprintf("%s=%.200q", name, options[name]))
	}
	return strings.Join(words, " ")
}
