//go:build full

package file

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/download"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestFetchByHost downloads on the host, or keeps the file.
func TestFetchByHost(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "right\n") }))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for _, test := range []struct {
		name, checksum, err string
		roots               *x509.CertPool
	}{
		{"right", right, "", roots},
		{"wrong", strings.Repeat("0", 64), `download failed: $URL/f?…: checksum mismatch, expected "` + strings.Repeat("0", 64) + `" got "` + right + `" (if you trust the new file, correct the property "checksum")`, roots},
		{"not trusted", right, "certificate signed by unknown authority", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "old\n"}})
			before := modtest.State(t, root)
			f := Type().New().(*File)
			f.Name, f.Source, f.Checksum, f.Fetch, f.Mode = root+"/f", server.URL+"/f?token=hunter2", test.checksum, "host", "0640"
			f.fetch = func(ctx context.Context, h modules.Host, d modules.Download, dir string) (io.ReadCloser, error) {
				return fetchWith(ctx, download.Client{Roots: test.roots, Tries: 1}, h, d, dir)
			}
			require.NoError(t, f.Validate())
			h := modtest.Host()
			plan, err := f.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			err = f.Apply(t.Context(), h, plan)
			if test.err != "" {
				require.ErrorContains(t, err, strings.ReplaceAll(test.err, "$URL", server.URL))
				require.NotContains(t, err.Error(), "hunter2")
				require.Equal(t, before, modtest.State(t, root), "nothing is changed, and nothing is left")
				return
			}
			require.NoError(t, err)
			text, err := os.ReadFile(root + "/f")
			require.NoError(t, err)
			require.Equal(t, "right\n", string(text))
			names, err := os.ReadDir(root)
			require.NoError(t, err)
			require.Len(t, names, 1)
			plan, err = f.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, modules.Plan{}, plan)
		})
	}
}
