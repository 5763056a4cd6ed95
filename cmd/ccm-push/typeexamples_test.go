package main

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// rootTypes need root and a host of their own; the tests of e2e apply their examples.
var rootTypes = []string{"group", "user", "service", "package", "upgrade", "debconf", "repository", "cron", "authorized_key", "sysctl", "mount", "swap", "locale", "hostname", "timezone", "kmod", "sudoers", "alternatives", "container", "firewall", "selinux", "seboolean", "fcontext", "seport", "reboot"}

// TestTypeExamples validates the examples of all types, and applies each example that an ordinary user can apply twice:
// the second time changes nothing.
func TestTypeExamples(t *testing.T) {
	t.Parallel()
	pages := http.NewServeMux()
	pages.Handle("/", http.FileServer(http.Dir("../../modules/archive/examples")))
	pages.Handle("/app.git/", http.StripPrefix("/app.git", http.FileServer(http.Dir(exampleRepository(t)))))
	pages.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"state": "up", "checks": [{"name": "database", "ok": true}]}`)
	})
	var site atomic.Value // last body put to /sites/shop
	pages.HandleFunc("/sites/shop", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			text, _ := io.ReadAll(r.Body)
			site.Store(text)
		}
		text, there := site.Load().([]byte)
		if !there {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write(text)
	})
	web := httptest.NewServer(pages)
	t.Cleanup(web.Close)
	params := scriptParams(t)
	params.Dir = t.TempDir()
	folders := map[string]string{} // of the examples of a script
	for _, typ := range builtin.Types() {
		examples, err := typ.Examples()
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(examples), 2, "%s: examples are written in modules/…/examples, see modules.Exampled", typ.Name)
		for _, e := range examples {
			require.NotEmpty(t, e.Title, "%s: %s", typ.Name, e.Name)
			require.Regexp(t, `(?m)^- `+typ.Name+`:`, e.Text, "%s: %s", typ.Name, e.Name)
			name := typ.Name + "-" + strings.TrimSuffix(e.Name, ".yaml")
			folders[name] = filepath.Join("../../modules", folderOf(typ), "examples")
			script := exampleScript(e, !slices.Contains(rootTypes, typ.Name))
			require.NoError(t, os.WriteFile(filepath.Join(params.Dir, name+".txtar"), []byte(script), 0o600))
		}
	}
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
		if err := os.CopyFS(env.WorkDir, os.DirFS(folders[name])); err != nil {
			return err
		}
		return inPlace(env.WorkDir, web.URL)
	}
	testscript.Run(t, params)
}

// exampleRepository makes a repository, whose commit is the same each time, as a web server has it.
func exampleRepository(t *testing.T) (dir string) {
	dir = t.TempDir()
	if _, err := exec.LookPath("git"); err != nil && os.Getenv("CI") == "" {
		return dir
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("An example.\n"), 0o600))
	for _, words := range [][]string{
		{"-c", "init.defaultBranch=main", "init", "-q"}, {"add", "README"}, {"-c", "commit.gpgSign=false", "commit", "-q", "-m", "An example"}, {"tag", "v1.0"}, {"update-server-info"},
	} {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.fileMode=false"}, words...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.net", "GIT_COMMITTER_NAME=ann",
			"GIT_COMMITTER_EMAIL=ann@example.net", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return filepath.Join(dir, ".git")
}

// folderOf is the folder of a type below modules.
func folderOf(t modules.Type) string {
	if t.Name == "package" {
		return "pkg"
	}
	return strings.ReplaceAll(t.Name, "_", "")
}

// exampleScript is the script of an example.
func exampleScript(e modules.Example, applied bool) string {
	script := "sshhost web1\nmkdir web1/etc web1/opt web1/srv\nccm-push validate site.yaml\n"
	if applied {
		script += `ccm-push -i hosts.yaml --check site.yaml
ccm-push -i hosts.yaml site.yaml
exits 0 ccm-push -i hosts.yaml --detailed-exitcode site.yaml
stdout ' 0 changed'
`
	}
	return script + "\n-- site.yaml --\n" + exampleManifest(e)
}

// exampleManifest is a manifest of an example.
func exampleManifest(e modules.Example) string {
	text := "ccm:\n  resources:\n"
	for line := range strings.Lines(e.Text) {
		text += "    " + line
	}
	return text
}

var (
	placeOf   = regexp.MustCompile(`(^|[\s"'\[({:=])/(etc|opt|srv)\b`)
	rootOwner = regexp.MustCompile(`\b(owner|group): root\b`)
)

// inPlace replaces the folders of a system with folders of the host, root with the user of the tests, and a server of
// the web with a server of the test.
func inPlace(work, web string) error {
	host := filepath.Join(work, "web1")
	ids := map[string]int{"owner": os.Getuid(), "group": os.Getgid()}
	return filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := placeOf.ReplaceAllString(strings.ReplaceAll(string(text), "https://example.net", web), "${1}"+host+"/$2")
		changed = rootOwner.ReplaceAllStringFunc(changed, func(property string) string {
			key, _, _ := strings.Cut(property, ":")
			return fmt.Sprintf("%s: \"%d\"", key, ids[key])
		})
		return os.WriteFile(path, []byte(changed), 0o644)
	})
}
