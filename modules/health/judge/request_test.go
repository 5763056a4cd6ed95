package judge

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// seen describes a request as a server sees it.
func seen(r *http.Request) string {
	user, password, _ := r.BasicAuth()
	peer := ""
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		peer = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return fmt.Sprintf("host=%s user=%s password=%s key=%s agent=%s peer=%s", r.Host, user, password, r.Header.Get("X-Key"), r.Header.Get("User-Agent"), peer)
}

// TestRequests uses servers that need a header, a password, a certificate, or a proxy, and one that echoes secrets.
func TestRequests(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, seen(r)) })
	other := httptest.NewServer(echo)
	t.Cleanup(other.Close)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/", http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			echo(w, r)
		}
	}))
	t.Cleanup(plain.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "proxied %s %s", r.URL.Host, r.Header.Get("Proxy-Authorization"))
	}))
	t.Cleanup(proxy.Close)
	secure := httptest.NewUnstartedServer(echo)
	secure.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	secure.StartTLS()
	t.Cleanup(secure.Close)

	dir := t.TempDir()
	certificate := secure.TLS.Certificates[0]
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	for name, text := range map[string][]byte{"ca.pem": authority, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), "empty.pem": nil} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	replace := strings.NewReplacer("PLAIN", plain.URL, "OTHER", other.URL, "SECURE", secure.URL, "DIR", dir,
		"PROXY", strings.Replace(proxy.URL, "http://", "http://eve:pr0xy@", 1))
	for _, test := range []struct {
		name, rule string
		status     wire.Health
		text       string
	}{
		{"headers", `"PLAIN/":{"request-headers":["X-Key: k3y","Host: shop.example.com","User-Agent: check"],"body":["host=shop.example.com","key=k3y","agent=check"]}`, wire.HealthOK, ""},
		{"a password", `"PLAIN/":{"username":"bob","password":"s3cret","body":["user=bob password=s3cret"]}`, wire.HealthOK, ""},
		{"a redirect to itself", `"PLAIN/near":{"username":"bob","password":"s3cret","request-headers":["X-Key: k3y"],"body":["user=bob password=s3cret key=k3y"]}`, wire.HealthOK, ""},
		{"a redirect to another server", `"PLAIN/away":{"username":"bob","password":"s3cret","request-headers":["X-Key: k3y","Authorization: Bearer t0ken"],"body":["user= password= key= "]}`, wire.HealthOK, ""},
		{"a redirect without end", `"PLAIN/round":{"status":200}`, wire.HealthCritical, `http "PLAIN/round": status: no answer (more than 10 redirects), expected 200 (0 of 1 expectations are met)`},
		{"secrets in the answer", `"PLAIN/":{"username":"bob","password":"s3cret","request-headers":["X-Key: k3y","User-Agent: check"],"body":{"have-prefix":"password=s3cret"}}`, wire.HealthCritical,
			`http "PLAIN/": body is "host=HOST user=bob password=[redacted] key=[redacted] agent=check peer=", not have-prefix "password=[redacted]" (0 of 1 expectations are met)`},
		{"a proxy", `"http://nowhere.invalid/":{"proxy":"PROXY","body":["proxied nowhere.invalid Basic ZXZlOnByMHh5"]}`, wire.HealthOK, ""},
		{"a certificate that nobody knows", `"SECURE/":{"status":200}`, wire.HealthCritical, `http "SECURE/": status: no answer (tls: failed to verify certificate: x509: certificate signed by unknown authority), expected 200 (0 of 1 expectations are met)`},
		{"an authority", `"SECURE/":{"ca-file":"DIR/ca.pem","status":200}`, wire.HealthOK, ""},
		{"its own certificate", `"SECURE/":{"allow-insecure":true,"cert-file":"DIR/ca.pem","key-file":"DIR/key.pem","body":{"not":{"have-suffix":"nothing"}}}`, wire.HealthOK, ""},
		{"no authority in the file", `"SECURE/":{"ca-file":"DIR/empty.pem","status":200}`, wire.HealthUnknown, `http "SECURE/": status: DIR/empty.pem has no certificate in PEM (0 of 1 expectations are met)`},
		{"no file", `"SECURE/":{"ca-file":"DIR/none.pem","status":200}`, wire.HealthUnknown, `http "SECURE/": status: open DIR/none.pem: no such file or directory (0 of 1 expectations are met)`},
		{"a key that does not fit", `"SECURE/":{"cert-file":"DIR/ca.pem","key-file":"DIR/empty.pem","status":200}`, wire.HealthUnknown,
			`http "SECURE/": status: DIR/ca.pem: tls: failed to find any PEM data in key input (0 of 1 expectations are met)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, text, err := Rules(t.Context(), system.New(), json.RawMessage(replace.Replace(`{"http":{`+test.rule+`}}`)))
			require.NoError(t, err)
			require.Equal(t, test.status, status, text)
			for _, secret := range []string{"s3cret", "k3y", "t0ken", "pr0xy"} {
				require.NotContains(t, text, secret)
			}
			if test.text != "" {
				require.Equal(t, strings.ReplaceAll(replace.Replace(test.text), "HOST", strings.TrimPrefix(plain.URL, "http://")), text)
			}
		})
	}
}

// TestLocalAddress uses a server that prints the address of its client.
func TestLocalAddress(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	status, text, err := Rules(t.Context(), system.New(), json.RawMessage(`{"addr":{"tcp://127.0.0.1:`+port+`":{"local-address":"127.0.0.5","reachable":true}}}`))
	require.NoError(t, err)
	require.Equal(t, wire.HealthOK, status, text)
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, "127.0.0.5", conn.RemoteAddr().(*net.TCPAddr).IP.String())
	_, text, err = Rules(t.Context(), system.New(), json.RawMessage(`{"addr":{"tcp://127.0.0.1:`+port+`":{"local-address":"here","reachable":true}}}`))
	require.NoError(t, err)
	require.Equal(t, `addr "tcp://127.0.0.1:`+port+`": reachable: "here" is not an IP address (0 of 1 expectations are met)`, text)
}
