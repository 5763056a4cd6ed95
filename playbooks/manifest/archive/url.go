package archive

import (
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/webpage"
)

// IsURL reports whether a manifest is to be downloaded.
func IsURL(name string) bool { return strings.Contains(name, "://") }

// ShownName is how a manifest is called: of a URL without user, password and query.
func ShownName(name string) string {
	if !IsURL(name) {
		return name
	}
	page, err := webpage.Parse(name)
	if err != nil {
		return "URL"
	}
	return page.String()
}
