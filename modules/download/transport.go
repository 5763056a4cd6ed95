package download

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// connectTime bounds dialling, and the handshake of TLS.
const connectTime = 30 * time.Second

func newTransport(c Client) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSHandshakeTimeout: connectTime,
		TLSClientConfig:     &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		// enough for any redirection
		MaxResponseHeaderBytes: 64 << 10,
	}
}

const maxRedirects = 10

// checkRedirect permits a redirection to another server, but sends headers and credentials to no server except the one
// of the manifest, also not on a way back. It refuses a redirection away from encryption.
func checkRedirect(d modules.Download) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return errors.New("it leads from https:// to a server without encryption")
		}
		req.URL.User = nil
		req.Header.Del("Referer") // its query can hold a secret
		if sameServer(append(via, req)) {
			return nil
		}
		req.Header.Del("Authorization")
		for name := range d.Headers {
			req.Header.Del(name)
		}
		return nil
	}
}

// sameServer reports whether requests all go to the server of the first one.
func sameServer(all []*http.Request) bool {
	for _, r := range all {
		if r.URL.Scheme != all[0].URL.Scheme || r.URL.Host != all[0].URL.Host {
			return false
		}
	}
	return true
}
