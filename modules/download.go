package modules

import (
	"net/url"
)

// A Download is a file on a web server.
type Download struct {
	URL                string            // http or https, without a user
	Headers            map[string]string // of the request; no other server is sent them
	Username, Password string            // basic authentication; both "" is none
	SHA256             string            // what the bytes must have, in lower-case hex; "" accepts any
	MaxSize            int64             // bytes
}

// String names the file, without what could be a secret in its URL.
func (d Download) String() string { return ShownURL(d.URL) }

// ShownURL is a URL without user, password, query and fragment, any of which can
// hold a secret.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL that cannot be read" // the text of err has all of it
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery != "" {
		shown.RawQuery = "…"
	}
	return shown.String()
}
