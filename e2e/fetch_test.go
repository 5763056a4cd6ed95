//go:build e2e

package e2e

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetFetch has the controller download for hosts, over TLS, and hosts by themselves.
func TestFleetFetch(t *testing.T) {
	f := startServiceHost(t)
	var mu sync.Mutex
	var asks []string
	asked := func() (all string) {
		mu.Lock()
		defer mu.Unlock()
		all, asks = strings.Join(asks, " "), nil
		return all
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asks = append(asks, r.URL.Path)
		mu.Unlock()
		fmt.Fprint(w, strings.Repeat(r.URL.Path+"\n", 1000))
	})
	content := func(path string) []byte { return []byte(strings.Repeat(path+"\n", 1000)) }
	secure := httptest.NewTLSServer(handler)
	t.Cleanup(secure.Close)
	listener, err := net.Listen("tcp", net.JoinHostPort(f.bridgeAddress(), "0"))
	require.NoError(t, err)
	plain := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	plain.Start()
	t.Cleanup(plain.Close)
	write(t, f.path("ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	push := func(more ...string) run {
		cmd := pushCommand(t, f.dir, append([]string{"-i", "root.yaml", "site.yaml"}, more...)...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+f.path("ca.pem"), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
		return ended(t, cmd)
	}

	write(t, f.path("site.yaml"), fmt.Sprintf(`
- hosts: s001
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0755"}
          - /srv/e2e/pinned: {source: "%[1]s/pinned?token=hunter2", checksum: "sha256:%[3]s"}
          - /srv/e2e/any: {source: "%[1]s/any?token=hunter2", checksum: none, mode: "0600"}
          - /srv/e2e/host: {source: "%[2]s/host", checksum: "%[4]s", fetch: host}
`, secure.URL, plain.URL, sum(content("/pinned")), sum(content("/host"))))
	f.sh("s001", "rm -rf /srv/e2e; mkdir -p /srv/e2e")
	run := func(more ...string) string {
		r := push(more...)
		r.requireCode(t, 0)
		require.NotContains(t, r.stdout+r.stderr, "hunter2")
		return r.stdout
	}
	require.Contains(t, run("--check"), "3 would change")
	require.Equal(t, "/any", asked(), "without a checksum, the content is needed to compare")
	require.Empty(t, f.sh("s001", "ls -A /srv/e2e"))
	require.Contains(t, run("--check", "--diff"), "+/pinned")
	require.Equal(t, "/any /pinned", asked())
	require.Contains(t, run(), "3 changed")
	require.Equal(t, "/any /pinned /host", asked())
	for _, name := range []string{"pinned", "any", "host"} {
		require.Equal(t, string(content("/"+name)), f.sh("s001", "cat /srv/e2e/"+name))
	}
	require.Equal(t, "600 any\n755 host\n755 pinned\n", f.sh("s001", "cd /srv/e2e && stat -c '%a %n' $(ls -A)"))
	require.Contains(t, run(), "0 changed, 3 stable")
	require.Equal(t, "/any", asked(), "what is there is not downloaded")

	before := f.sh("s001", "cat /srv/e2e/pinned")
	write(t, f.path("site.yaml"), fmt.Sprintf(`
- hosts: s001
  ccm:
    resources:
      - file:
          - /srv/e2e/pinned: {source: "%s/other", checksum: "sha256:%s"}
          - /srv/e2e/host: {source: "%s/other", checksum: "%s", fetch: host}
`, secure.URL, sum([]byte("x")), plain.URL, sum([]byte("x"))))
	r := push()
	r.requireCode(t, 2)
	require.Equal(t, 2, strings.Count(r.stdout, "checksum mismatch"), r.stdout)
	require.Equal(t, before, f.sh("s001", "cat /srv/e2e/pinned"))
	require.Equal(t, "any\nhost\npinned\n", f.sh("s001", "ls -A /srv/e2e"), "nothing is left")
}
