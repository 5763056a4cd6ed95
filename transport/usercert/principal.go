package usercert

import (
	"regexp"
	"sync"
)

var siteName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9._-]*$`) })

// Principal returns the principal of a certificate that is for an account on the hosts of a site, and of no other one: their
// AuthorizedPrincipalsFile lists it for the account. It is empty if the site has characters that a principal cannot have; the site of hosts
// without one is "".
func Principal(account, site string) string {
	if !siteName().MatchString(site) {
		return ""
	}
	return account + "@" + site
}
