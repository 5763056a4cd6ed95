//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const gossSite = `
hosts: h001
data: {password: hunter2, most: 100}
ccm:
  resources:
    - exec:
        - "true":
            health_checks:
              - name: web
                goss_rules:
                  gossfile: {goss/disk.yaml: {}}
                  http:
                    "http://%[1]s/":
                      username: bob
                      password: %[2]s
                      request-headers: ["X-Key: k3y"]
                      body: {gjson: {version: {semver-constraint: ">=1.2.0 <2.0.0"}, "hosts.#": 2}}
                  matching:
                    kernel: {content: "{{ Facts.host.info.os }}", matches: linux}
                  package:
                    bash: {versions: {have-len: 1}}
`

// TestFleetGoss checks a web server behind a password, a disk and a file; the password appears nowhere.
func TestFleetGoss(t *testing.T) {
	f := startFleet(t)
	listener, err := net.Listen("tcp", net.JoinHostPort(f.bridgeAddress(), "0"))
	require.NoError(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "bob" || password != "hunter2" || r.Header.Get("X-Key") != "k3y" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "not %s with %s and %s", user, password, r.Header.Get("X-Key"))
			return
		}
		fmt.Fprint(w, `{"version":"1.4.0","hosts":["a","b"]}`)
	})}}
	server.Start()
	t.Cleanup(server.Close)
	require.NoError(t, os.MkdirAll(f.path("goss"), 0o755))
	digest := f.sh("h001", "sha512sum /etc/hostname | cut -d ' ' -f 1 | tr -d '\n'")
	write(t, f.path("goss/disk.yaml"), fmt.Sprintf("mount: {/: {usage: {le: \"{{ Data.most }}\"}}}\nfile: {/etc/hostname: {sha512: %s}}\n", digest))
	address := listener.Addr().String()

	write(t, f.path("goss.yaml"), fmt.Sprintf(gossSite, address, "hunter2"))
	r := f.push("-i", "root.yaml", "check-health", "goss.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "OK web: 5 of 5 expectations are met")
	r = f.push("-i", "root.yaml", "render", "goss.yaml", "h001")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "[redacted]")
	require.NotContains(t, r.stdout, "k3y")

	write(t, f.path("goss.yaml"), strings.Replace(fmt.Sprintf(gossSite, address, "wr0ng"), "most: 100", "most: -1", 1))
	r = f.push("-i", "root.yaml", "-vv", "check-health", "goss.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, `body is "not bob with [redacted] and [redacted]", not gjson`)
	require.Contains(t, r.stdout, `mount "/": usage is `)
	require.NotContains(t, r.stdout+r.stderr, "wr0ng")
	require.NotContains(t, r.stdout+r.stderr, "k3y")
	records := 0
	require.NoError(t, filepath.WalkDir(f.path(".local/state/ccm-push"), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		require.NotContains(t, string(text), "wr0ng", name)
		records++
		return err
	}))
	require.Positive(t, records)
}
