package catalog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/templates"
)

var update = flag.Bool("update", false, "write the golden files")

// TestCCMCatalogs compiles every manifest in the scripts about CCM's own documentation, and the manifests with CCM's data,
// and compares the catalogs byte for byte. Features that CCM does not have must not change them.
func TestCCMCatalogs(t *testing.T) {
	scripts, err := filepath.Glob("../../cmd/ccm-push/testdata/ccmdesign/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	scripts = append(scripts, "testdata/ccm.txtar")
	var out bytes.Buffer
	manifests := 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		require.NoError(t, err)
		dir := t.TempDir()
		for _, f := range archive.Files {
			path := filepath.Join(dir, f.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, f.Data, 0o600))
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".yaml") || !bytes.Contains(f.Data, []byte("ccm:")) {
				continue
			}
			manifests++
			fmt.Fprintf(&out, "%s %s\n%s\n", filepath.Base(script), f.Name, strings.ReplaceAll(compiledText(t, filepath.Join(dir, f.Name)), dir, "DIR"))
		}
	}
	t.Log(manifests, "manifests")
	const golden = "testdata/ccm.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

// compiledText returns the catalogs of the plays of a file, as hosts receive them, or the errors.
func compiledText(t *testing.T, path string) string {
	plays, err := load.Files(t.Context(), []string{path}, builtin.Types())
	if err != nil {
		return err.Error()
	}
	var text []string
	for _, p := range plays {
		p.File = "" // it is in the id of the play
		c, err := New(p, Options{Extra: []templates.Layer{{Name: "-e", Values: map[string]any{"root": "/root"}}}})
		if err != nil {
			text = append(text, err.Error())
			continue
		}
		compiled, err := c.Compile(t.Context(), Host{Name: "web1", Facts: ccmFacts()})
		c.Close()
		if err != nil {
			text = append(text, err.Error())
			continue
		}
		line, _, err := compiled.line()
		require.NoError(t, err)
		text = append(text, strings.TrimSpace(string(line)))
	}
	return strings.Join(text, "\n")
}

// ccmFacts are facts that the manifests read.
func ccmFacts() map[string]any {
	info := map[string]any{"hostname": "web1", "os": "linux", "platform": "debian", "platformFamily": "debian", "platformVersion": "12.5", "kernelArch": "x86_64"}
	return map[string]any{"host": map[string]any{"info": info}, "role": "web", "fqdn": "web1.example.com", "os": "linux", "cpu": map[string]any{"count": int64(4)}}
}
