package source

import (
	"errors"
	"fmt"
	"regexp"
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

// pin begins the checksum at the end of a URL.
const pin = "#sha256="

// ParseURL reads the URL of an archive, which may hold user and password and end in the
// checksum: #sha256=HEX. What others could have changed on the way needs that. No error
// shows a secret.
func ParseURL(text string) (Archive, error) {
	address, sum, pinned := strings.Cut(text, pin)
	switch scheme, _, _ := strings.Cut(text, "://"); strings.ToLower(scheme) {
	case "http", "https":
	case "obj":
		return Archive{}, errors.New("obj:// is a bucket of NATS, which is not supported: put the archive onto a web server, or give its file")
	default:
		return Archive{}, fmt.Errorf("%q is no scheme that manifests are read from: there are https:// and http://, and paths", scheme)
	}
	page, err := webpage.Parse(address)
	if err != nil {
		return Archive{}, fmt.Errorf("a manifest: %w", err)
	}
	sum = strings.ToLower(sum)
	switch path, _, _ := strings.Cut(page.String(), "?"); {
	case !IsArchive(path):
		return Archive{}, fmt.Errorf("%s: a manifest on the web is a .tar.gz with %s in it", page, ManifestFile)
	case pinned && !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(sum):
		return Archive{}, fmt.Errorf("%s: what follows %s is no checksum: write 64 hexadecimal digits, as sha256sum prints them", page, pin)
	case !pinned && page.Unprotected():
		return Archive{}, fmt.Errorf("%s: others on the way could change what your hosts are to do: write https://, or the checksum behind it: %s…", page, pin)
	}
	return Archive{Page: &page, Checksum: sum}, nil
}
