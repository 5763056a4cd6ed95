package brings

import (
	"net/url"
	"slices"
	"strings"
)

// DNFSettings are the settings of dnf: by section, which is main or a repository, and by name.
type DNFSettings map[string]map[string]string

// Add reads a file as in dnf.conf(5).
func (s DNFSettings) Add(text string) {
	section, name := "", ""
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case indented && name != "": // more of the value
			s[section][name] += " " + line
		case line[0] == '[':
			section, _, _ = strings.Cut(line[1:], "]")
			name = ""
			if s[section] == nil {
				s[section] = map[string]string{}
			}
		case s[section] != nil:
			var value string
			name, value, _ = strings.Cut(line, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			s[section][name] = strings.TrimSpace(value)
		}
	}
}

// List returns the values of a setting of the section main.
func (s DNFSettings) List(name string) []string {
	return strings.FieldsFunc(s["main"][name], func(r rune) bool { return r == ' ' || r == ',' })
}

// otherWays are settings of downloads that this program does not support.
var otherWays = []string{"username", "password", "proxy_username", "proxy_password", "proxy_sslcacert", "sslcacert", "sslclientcert", "sslclientkey", "sslverify"}

// Proxy returns the proxy for a file of a repository; nil means none. It fits [Fetcher].
func (s DNFSettings) Proxy(file File, _ *url.URL) (*url.URL, error) {
	repository := s[file.Origin]
	if repository == nil {
		return nil, errSettings
	}
	get := func(name string) string {
		if value, ok := repository[name]; ok {
			return value
		}
		return s["main"][name]
	}
	for _, name := range otherWays {
		if value := get(name); value != "" && !(name == "sslverify" && slices.Contains([]string{"1", "yes", "true", "on"}, strings.ToLower(value))) {
			return nil, errSettings
		}
	}
	value := get("proxy")
	if value == "" || value == "_none_" {
		return nil, nil
	}
	p, err := url.Parse(value)
	if err != nil || p.Scheme != "http" || p.Host == "" || strings.Contains(value, "$") {
		return nil, errSettings
	}
	return p, nil
}
