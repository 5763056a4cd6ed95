package usercert

import (
	"regexp"
	"sync"
)

var siteName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9._-]*$`) })

// Principal returns the principal of a certificate for an account on the hosts of one site: their AuthorizedPrincipalsFile
// lists it for the account. It is empty if a principal cannot have the characters of the site. Hosts without a site have
// the site "".
func Principal(account, site string) string {
	if !siteName().MatchString(site) {
		return ""
	}
	return account + "@" + site
}
