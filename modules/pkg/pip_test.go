package pkg_test

import (
	"archive/zip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// wheels are the packages of Python that tests install: name, version, and lines of metadata.
var wheels = [][]string{
	{"e2e-demo", "1.0"}, {"e2e-demo", "1.1"}, {"e2e-demo", "2.0"}, {"e2e-demo", "3.0rc1"},
	{"e2e-app", "1.0", "Requires-Dist: e2e-demo<2", "Provides-Extra: fast", "Requires-Dist: e2e-fast; extra == 'fast'"},
	{"e2e-fast", "0.1"},
}

// wheelFolder is a folder of wheels, as pip builds them.
func wheelFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, w := range wheels {
		module := strings.ReplaceAll(w[0], "-", "_")
		info := module + "-" + w[1] + ".dist-info/"
		metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s\n", w[0], w[1], strings.Join(w[2:], "\n"))
		files := [][2]string{
			{module + ".py", "version = '" + w[1] + "'\n"}, {info + "METADATA", metadata},
			{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		}
		record := info + "RECORD,,\n"
		for _, f := range files {
			record += f[0] + ",,\n"
		}
		file, err := os.Create(filepath.Join(dir, module+"-"+w[1]+"-py3-none-any.whl"))
		require.NoError(t, err)
		archive := zip.NewWriter(file)
		for _, f := range append(files, [2]string{info + "RECORD", record}) {
			part, err := archive.Create(f[0])
			require.NoError(t, err)
			_, err = part.Write([]byte(f[1]))
			require.NoError(t, err)
		}
		require.NoError(t, archive.Close())
		require.NoError(t, file.Close())
	}
	return dir
}

// python is the host's Python, with pip.
func python(t testing.TB) string {
	t.Helper()
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-m", "pip", "--version").Run(); err != nil {
		needs.Missing(t, "pip")
	}
	return python
}

// virtualenv makes one in which pip is the host's own, and installs wheels.
func virtualenv(t testing.TB, dir string, from string, specs ...string) {
	t.Helper()
	run := func(argv ...string) {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run(python(t), "-m", "venv", "--without-pip", "--system-site-packages", dir)
	if len(specs) > 0 {
		run(append([]string{dir + "/bin/python", "-m", "pip", "install", "-q", "--no-index", "--find-links=" + from}, specs...)...)
	}
}

// TestPipConverges runs only one situation through the suite of all types, since pip is slow.
func TestPipConverges(t *testing.T) {
	if testing.Short() {
		t.Skip("pip is asked two dozen times")
	}
	python(t)
	from := wheelFolder(t)
	modtest.Converges(t, pkg.Type(), modtest.Fixture{
		Name:       "to the latest release",
		Prepare:    func(t *testing.T, root string) { virtualenv(t, root+"/env", from, "e2e-demo==1.0") },
		Opaque:     "env", // compiled files of Python contain the time
		Properties: `{"name":"E2E_Demo","ensure":"latest","provider":"pip","virtualenv":"$ROOT/env","options":["--no-index","--find-links=` + from + `"]}`,
		Action:     "upgraded to 2.0", Changes: []modules.Change{modtest.Change("version", "1.0", "2.0")},
	})
}

// TestPipCheck checks packages of one virtualenv with e2e-demo 1.1.
func TestPipCheck(t *testing.T) {
	from, root := wheelFolder(t), t.TempDir()
	virtualenv(t, root+"/env", from, "e2e-demo==1.1")
	for _, test := range []struct {
		properties, action string
		changes            []modules.Change
	}{
		{`"name":"e2e.demo","ensure":"1.1.0"`, "", nil},
		{`"name":"e2e-demo","ensure":">= 1.0, < 2"`, "", nil},
		{`"name":"e2e-demo","ensure":"< 1.1"`, "downgraded to 1.0", change("version", "1.1", "1.0")},
		{`"name":"e2e-demo","ensure":"absent"`, "uninstalled", change("ensure", "1.1", "absent")},
		{`"name":"e2e-app"`, "installed version 1.0", change("ensure", "absent", "1.0")},
	} {
		plan, err := pipPackage(t, from, `"virtualenv":"`+root+`/env",`+test.properties).Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err, test.properties)
		require.Equal(t, test.action, plan.Action, test.properties)
		require.Equal(t, test.changes, plan.Changes, test.properties)
	}
}

// pipPackage is one of a virtualenv of Python that takes wheels of a folder.
func pipPackage(t *testing.T, from, properties string) *pkg.Package {
	t.Helper()
	return modtest.Decode(t, modules.Registry{pkg.Type()}, "package",
		`{"provider":"pip","options":["--no-index","--find-links=`+from+`"],`+properties+`}`, "").(*pkg.Package)
}

// TestPipExtras finds that extras of a name are missing, though the package is installed.
func TestPipExtras(t *testing.T) {
	from, root := wheelFolder(t), t.TempDir()
	virtualenv(t, root+"/env", from, "e2e-app")
	h := modtest.Host()
	p := pipPackage(t, from, `"name":"e2e-app[fast]","virtualenv":"`+root+`/env"`)
	plan, err := p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, "finished the installation of version 1.0", plan.Action)
	require.Equal(t, []modules.Change{modtest.Change("ensure", "without fast", "1.0")}, plan.Changes)
	require.Contains(t, plan.Effects, modules.Effect{Kind: pkg.Effect, Key: "e2e-fast of " + root + "/env", State: pkg.State{Installed: true, Version: "0.1"}})
	require.NoError(t, p.Apply(t.Context(), h, plan))
	plan, err = p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.False(t, plan.Pending())
}

// TestPipMakesItsVirtualenv creates a virtualenv with the given Python, and reports it. If that Python has a pip, the
// check can predict the version.
func TestPipMakesItsVirtualenv(t *testing.T) {
	from, root := wheelFolder(t), t.TempDir()
	if err := exec.Command(python(t), "-c", "import ensurepip").Run(); err != nil {
		needs.Missing(t, "python3 that makes a virtualenv")
	}
	h := modtest.Host()
	p := pipPackage(t, from, `"name":"e2e-demo","ensure":"< 2","python":"/usr/bin/python3","virtualenv":"`+root+`/a/env"`)
	plan, err := p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.NoDirExists(t, root+"/a")
	require.Equal(t, "made the virtualenv "+root+"/a/env and installed version 1.1", plan.Action)
	require.Equal(t, []modules.Change{modtest.Change("virtualenv", "absent", "present"), modtest.Change("ensure", "absent", "1.1")}, plan.Changes)
	require.False(t, plan.MayFail)
	back, err := p.Reversal(t.Context(), modules.ReadOnly(h), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"ensure": "absent", "lock_timeout": "2m", "provider": "pip", "python": "/usr/bin/python3", "virtualenv": root + "/a/env",
		"options": []string{"--no-index", "--find-links=" + from},
	}, back)

	require.NoError(t, p.Apply(t.Context(), h, plan))
	out, err := exec.Command(root+"/a/env/bin/python", "-c", "import e2e_demo; print(e2e_demo.version)").Output()
	require.NoError(t, err)
	require.Equal(t, "1.1\n", string(out))
	plan, err = p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.False(t, plan.Pending())
	about, err := p.Describe(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, "1.1", about.Ensure)
	require.Equal(t, "pip", about.Provider)
	from2, err := p.Watch(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, modules.Sources{Paths: []string{root + "/a/env/pyvenv.cfg", root + "/a/env/bin/python"}, Polled: "pip sends no events about installed packages"}, from2)
}

// TestPipUnforeseen checks that packages which pip must build are uncertain, and are not built to find out.
func TestPipUnforeseen(t *testing.T) {
	from, root := wheelFolder(t), t.TempDir()
	virtualenv(t, root+"/env", from)
	p := pipPackage(t, from, `"name":"e2e-source","ensure":"1.0","virtualenv":"`+root+`/env"`)
	h := modtest.Host()
	plan, err := p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.True(t, plan.MayFail)
	require.Equal(t, "installed version 1.0", plan.Action)
	require.EqualError(t, p.Apply(t.Context(), h, plan), "pip install ended with exit code 1: "+
		"Could not find a version that satisfies the requirement e2e-source==1.0 (from versions: none); No matching distribution found for e2e-source==1.0")
}

// TestPipOfTheSystem checks that the operating system's packages are not changed (PEP 668) by default.
func TestPipOfTheSystem(t *testing.T) {
	if _, err := os.Stat("/usr/lib/python3.11/EXTERNALLY-MANAGED"); err != nil {
		t.Skip("python3 is nobody's here")
	}
	from := wheelFolder(t)
	python(t)
	h := modtest.Host()
	for _, name := range []string{"e2e-demo", "e2e-source"} { // also a package that pip would have to build first
		_, err := pipPackage(t, from, `"name":"`+name+`","python":"/usr/bin/python3"`).Check(t.Context(), modules.ReadOnly(h))
		require.EqualError(t, err, "/usr/bin/python3 belongs to the operating system, so pip must not change its packages (PEP 668: /usr/lib/python3.11/EXTERNALLY-MANAGED); "+
			"set virtualenv, install the package with the operating system's package manager, or set break_system_packages: true")
	}
	plan, err := pipPackage(t, from, `"name":"e2e-demo","python":"/usr/bin/python3","break_system_packages":true`).Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, "installed version 2.0", plan.Action)
}

// told records the arguments and environment of commands, which others can read.
type told struct {
	modules.Commands
	mu   sync.Mutex
	text strings.Builder
}

func (c *told) note(cmd modules.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(&c.text, cmd.Argv, cmd.Env)
}

func (c *told) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	c.note(cmd)
	return c.Commands.Probe(ctx, cmd)
}

func (c *told) Run(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	c.note(cmd)
	return c.Commands.Run(ctx, cmd)
}

// TestPipIndex installs a package from an index with a password, and checks that no output shows it.
func TestPipIndex(t *testing.T) {
	from, root := wheelFolder(t), t.TempDir()
	virtualenv(t, root+"/env", from)
	files := http.FileServer(http.Dir(from))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "deploy" || password != "s3cret":
			w.Header().Set("WWW-Authenticate", `Basic realm="index"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/simple/e2e-demo"):
			fmt.Fprint(w, `<!DOCTYPE html><a href="/e2e_demo-1.0-py3-none-any.whl">e2e_demo-1.0-py3-none-any.whl</a>`)
		case strings.HasPrefix(r.URL.Path, "/simple/"):
			http.NotFound(w, r)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	h := modtest.Host()
	commands := &told{Commands: h.Commands}
	h.Commands = commands
	index := strings.Replace(server.URL, "//", "//deploy:s3cret@", 1) + "/simple"
	p := modtest.Decode(t, modules.Registry{pkg.Type()}, "package",
		`{"name":"e2e-demo","ensure":"latest","provider":"pip","index":"`+index+`","virtualenv":"`+root+`/env"}`, "").(*pkg.Package)
	plan, err := p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, "installed version 1.0", plan.Action)
	back, err := p.Reversal(t.Context(), modules.ReadOnly(h), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ensure": "absent", "lock_timeout": "2m", "provider": "pip", "virtualenv": root + "/env"}, back)
	require.NoError(t, p.Apply(t.Context(), h, plan))
	plan, err = p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.False(t, plan.Pending())

	p.Name, p.Ensure = "e2e-none", "1.0"
	plan, err = p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	failed := p.Apply(t.Context(), h, plan)
	require.Error(t, failed)
	require.NotContains(t, failed.Error(), "s3cret")
	require.NotContains(t, commands.text.String(), "s3cret")
}

func TestLanguageValidate(t *testing.T) {
	modtest.Decodes(t, pkg.Type(), map[string]string{
		`{"name":"flask","virtualenv":"/opt/app"}`:             "virtualenv: 'virtualenv' is only for packages of pip (write provider: pip, or remove it)",
		`{"name":"flask","provider":"npm","python":"python3"}`: "python: 'python' is only for packages of pip (write provider: pip, or remove it)",
		`{"name":"flask","provider":"apt","user":"app"}`:       "user: 'user' is only for packages of pip and npm (write provider: pip or provider: npm, or remove it)",
		`{"name":"flask","provider":"pip","hold":true}`:        "hold: 'hold' is only for packages of the operating system, not for provider: pip",
		`{"name":"flask==1.0","provider":"pip"}`:               `name: "flask==1.0" is not a name of a Python package (write it as its index does, such as flask or uvicorn[standard], and its version in "ensure")`,
		`{"name":"pm2@5","provider":"npm"}`:                    `name: "pm2@5" is not a name of an npm package (write it as its registry does, such as pm2 or @babel/core, and its version in "ensure")`,
		`{"name":"--global","provider":"npm"}`:                 `name: "--global" is not a name of an npm package (write it as its registry does, such as pm2 or @babel/core, and its version in "ensure")`,
		`{"name":"pm2","provider":"npm","ensure":"next"}`:      `ensure: "next" is not a version of an npm package (write latest, or a version such as 5.3.0)`,
		`{"name":"pm2","provider":"npm","index":"https://u:p@host/"}`: `index: a user, a password or a token in "index" would be seen in the arguments of npm ` +
			"(remove the user, password or token from the URL, and write //HOST/:_authToken=… into the user's ~/.npmrc with a file resource of mode 0600)",
		`{"name":"flask","provider":"pip","index":"ftp://host"}`:                 `index: "index" is not a valid URL (write https://host/path)`,
		`{"name":"flask","provider":"pip","options":["install"]}`:                `options[0]: "install" is not an option (write an option and its value as one word, such as --find-links=/srv/wheels)`,
		`{"name":"flask","provider":"pip","options":["--index-url=https://h/"]}`: "options[0]: the option --index-url has a property (write index)",
		`{"name":"flask","provider":"pip","options":["--extra-index-url=https://u:p@h/"]}`: "options[0]: a user or a password in the option --extra-index-url would be seen in the arguments of pip " +
			"(store the user and the password on the host: in ~/.netrc, pip.conf or .npmrc of the user, with mode 0600)",
		`{"name":"flask","provider":"pip","python":"bin/python"}`:                                                                          `python: "bin/python" is not a program (write a name such as python3.11, or an absolute path)`,
		`{"name":"flask","provider":"pip","virtualenv":"/opt/app","break_system_packages":true}`:                                           "break_system_packages: a virtualenv has packages of its own",
		`{"name":"uvicorn[standard, x]","provider":"pip","ensure":">= 0.2, < 1","virtualenv":"/opt/app","user":"app","options":["--pre"]}`: "",
		`{"name":"@babel/core","provider":"npm","directory":"/opt/app","ensure":"7.0.0-rc.1"}`:                                             "",
	})
}
