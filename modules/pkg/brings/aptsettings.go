package brings

import (
	"errors"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A File is a package file in a repository, as the package manager's signed lists describe it.
type File struct {
	URI    string
	Name   string // in the manager's own folder of package files
	Size   int64
	SHA256 string // empty if the lists have no checksum
	Built  string // time of the build in the lists; empty with SHA256
	Origin string // name of the repository; empty with apt
}

var errURIs = errors.New("apt-get --print-uris printed something else")

// ParseURI reads a line of apt-get --print-uris:
//
//	'http://deb.debian.org/debian/pool/main/r/redis/redis_7_all.deb' redis_5%3a7_all.deb 26044 SHA256:3a74…
func ParseURI(line string) (File, error) {
	rest, ok := strings.CutPrefix(line, "'")
	uri, rest, ok2 := strings.Cut(rest, "' ")
	fields := strings.Fields(rest)
	if !ok || !ok2 || len(fields) != 3 {
		return File{}, errURIs
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	sum, hashed := strings.CutPrefix(fields[2], "SHA256:")
	if err != nil || size <= 0 || !hashed || !modules.IsDigest(sum) || path.Base(fields[0]) != fields[0] {
		return File{}, errURIs
	}
	return File{URI: uri, Name: fields[0], Size: size, SHA256: sum}, nil
}

// Settings are the settings of apt, by lower-case name.
type Settings map[string]string

// Add reads a line of apt-config dump:
//
//	Acquire::http::Proxy "http://proxy:3142";
func (s Settings) Add(line string) {
	name, value, ok := strings.Cut(line, " ")
	value, ok2 := strings.CutSuffix(strings.TrimSpace(value), `";`)
	if value, ok3 := strings.CutPrefix(value, `"`); ok && ok2 && ok3 {
		s[strings.ToLower(name)] = value
	}
}

// Dir returns an absolute path among the settings, such as Dir::Etc::netrc. A path that is not absolute is below
// its parents.
func (s Settings) Dir(name string) string {
	name = strings.ToLower(name)
	at := s[name]
	for at != "" && !path.IsAbs(at) {
		n := strings.LastIndex(name, "::")
		if n < 0 {
			break
		}
		name = name[:n]
		at = path.Join(s[name], at)
	}
	return at
}

var errSettings = errors.New("apt is set up to fetch in a way that this program does not know")

// Proxy returns the proxy for a URI; nil means none. It fits [Fetcher].
func (s Settings) Proxy(_ File, u *url.URL) (*url.URL, error) {
	for name, value := range s {
		parts := strings.Split(name, "::")
		switch {
		case value == "" || len(parts) < 3 || parts[0] != "acquire" || parts[1] != "http" && parts[1] != "https":
		case parts[2] == "proxy-auto-detect" || parts[2] == "proxyautodetect":
			return nil, errSettings
		case parts[1] == "https" && parts[2] != "proxy" && parts[2] != "timeout" && parts[2] != "dl-limit":
			return nil, errSettings // certificates, and how they are verified
		}
	}
	host := strings.ToLower(u.Hostname())
	for _, name := range []string{u.Scheme + "::proxy::" + host, u.Scheme + "::proxy", "http::proxy::" + host, "http::proxy"} {
		switch value := s["acquire::"+name]; {
		case value == "":
		case strings.EqualFold(value, "DIRECT") || strings.EqualFold(value, "false"):
			return nil, nil
		default:
			p, err := url.Parse(value)
			if err != nil || p.Scheme != "http" && p.Scheme != "https" || p.Host == "" {
				return nil, errSettings
			}
			return p, nil
		}
	}
	return nil, nil
}

// NeedsPassword reports whether the text of a file auth.conf(5) has an entry for a host.
func NeedsPassword(text, host string) bool {
	fields := strings.Fields(text)
	for n := 1; n < len(fields); n++ {
		if fields[n-1] != "machine" {
			continue
		}
		machine := fields[n]
		if _, rest, ok := strings.Cut(machine, "://"); ok {
			machine = rest
		}
		machine, _, _ = strings.Cut(machine, "/")
		machine, _, _ = strings.Cut(machine, ":")
		if strings.EqualFold(machine, host) {
			return true
		}
	}
	return false
}
