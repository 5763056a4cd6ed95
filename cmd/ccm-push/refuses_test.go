package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
)

// invalidHosts is an inventory of hosts that nothing may connect to.
const invalidHosts = `all:
  vars: {ansible_host: 127.0.0.1, ansible_port: %d, ansible_user: nobody}
  children:
    web: {hosts: {web1: {port: 80}, web2: , web3: }}
    db: {hosts: {db1: }}
`

// manifestCases writes every manifest of the tests below dir, each in its own folder, and returns the paths. The manifests
// come from scripts, schemas, and Go files with texts that look like manifests.
func manifestCases(t *testing.T, dir string) (paths []string) {
	t.Helper()
	isManifest := regexp.MustCompile(`(?m)(^|[ {-])(ccm|resources): *[\[{\n]`).MatchString
	add := func(folder, name, text string) {
		path := filepath.Join(dir, folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if ext := filepath.Ext(name); (ext == ".yaml" || ext == ".yml" || ext == ".json") && isManifest(text) {
			paths = append(paths, path)
		}
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		require.NoError(t, err)
		for _, f := range archive.Files {
			add(filepath.Join("script", filepath.Base(script)), f.Name, string(f.Data))
		}
	}
	files, err := filepath.Glob("../../playbooks/manifest/schema/testdata/*/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		add("schema", filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), string(text))
	}
	for _, pattern := range []string{"../../playbooks/*_test.go", "../../playbooks/*/*_test.go", "../../playbooks/manifest/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			n := 0
			ast.Inspect(parsed, func(node ast.Node) bool {
				if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && isManifest(text) && !strings.Contains(text, "%s") {
						n++
						add("go", fmt.Sprintf("%s/%s/%d/site.yaml", filepath.Base(filepath.Dir(file)), filepath.Base(file), n), text)
					}
				}
				return true
			})
		}
	}
	return paths
}

// errorsIn returns the errors in the program's output, without errors of encrypted values: validate decrypts none.
func errorsIn(stderr string) string {
	var kept strings.Builder
	skip := false
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, " ") {
			skip = strings.HasPrefix(line, "ccm-push: warning: ") || strings.Contains(line, " is encrypted")
		}
		if !skip {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestRunRefusesWhatValidateRefuses runs every manifest of the tests that validate refuses: the run has
// the same errors and status, and contacts no host.
func TestRunRefusesWhatValidateRefuses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var contacted atomic.Int64
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			contacted.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-accepting
	})
	dir, err := os.MkdirTemp(manyFiles, "refuses")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	hosts := filepath.Join(dir, "inventory.yaml")
	require.NoError(t, os.WriteFile(hosts, fmt.Appendf(nil, invalidHosts, listener.Addr().(*net.TCPAddr).Port), 0o600))
	environ := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	programs := hostPrograms(t)
	call := func(ctx context.Context, argv ...string) (string, int) {
		var out, errOut bytes.Buffer
		a := app.New(strings.NewReader(""), &out, &errOut, environ)
		code := exitCode(call(ctx, a, append([]string{"-i", hosts, "--ssh-config", "none", "--module-dir", programs}, argv...)), &errOut)
		return errorsIn(errOut.String()), code
	}
	refused := 0
	for i, path := range manifestCases(t, dir) {
		t.Chdir(filepath.Dir(path))
		name := filepath.Base(path)
		want, status := call(t.Context(), "validate", name)
		if status == 0 {
			continue
		}
		refused++
		argv := [][]string{{name}, {"--check", name}, {"watch", name}, {"check-health", name}}[i%4]
		got, ran := call(t.Context(), argv...)
		shown, _ := filepath.Rel(dir, path)
		assert.Equal(t, want, got, "%s %s", shown, argv)
		assert.Equal(t, status, ran, "%s %s", shown, argv)
		require.Zero(t, contacted.Load(), "%s %s has contacted a host", shown, argv)
	}
	t.Logf("%d manifests were refused", refused)
	require.Greater(t, refused, 300)
}
