package pkg_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// An archive is an apt repository of tiny packages, and the configuration with which apt uses it on hosts that are
// folders: the real apt-get and dpkg run, without root, and nothing outside these folders changes.
type archive struct{ dir, native string }

// control is the part of a package that differs.
type control struct{ name, version, fields, postinst string }

var debs = []control{
	{"demo", "1.0", "", ""}, {"demo", "1.1", "", ""}, {"demo", "2.0", "", ""},
	{"epoch", "1:1.0-1", "", ""},
	{"tool", "1.0", "", ""},
	{"needy", "1.0", "Depends: nosuch (>= 2)\n", ""},
	{"needs-demo", "1.0", "Depends: demo\n", ""},
	{"left", "1.0", "Conflicts: right\n", ""}, {"right", "1.0", "", ""},
	{"mta-a", "1.0", "Provides: mta (= 2)\n", ""}, {"mta-b", "1.0", "Provides: something, mta\n", ""},
	{"only", "1.0", "Provides: solo\n", ""},
	{"broken", "1.0", "", "#!/bin/sh\necho cannot start >&2\nexit 3\n"},
}

// multi is a package that can be installed for two architectures.
var multi = control{"multi", "1.0", "Multi-Arch: same\n", ""}

func newArchive(t testing.TB) *archive {
	t.Helper()
	needs.Program(t, "apt-get", "apt-cache", "dpkg", "dpkg-deb", "dpkg-query")
	a := &archive{t.TempDir(), native(t)}
	var packages bytes.Buffer
	for _, c := range debs {
		a.add(t, &packages, c, "all")
	}
	a.add(t, &packages, multi, native(t))
	a.add(t, &packages, multi, foreign(t))
	a.write(t, "repo/Packages", packages.String())
	a.write(t, "sources.list", "deb [trusted=yes] copy:"+a.dir+"/repo ./\n")
	for _, dir := range []string{"lists/partial", "archives/partial", "parts"} {
		require.NoError(t, os.MkdirAll(filepath.Join(a.dir, dir), 0o755))
	}
	a.fetch(t)
	return a
}

// fetched sets the age of the fetched lists; the files that name the repositories are older.
func (a *archive) fetched(t testing.TB, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	for _, place := range places {
		require.NoError(t, os.Chtimes(filepath.Join(a.dir, place), at, at))
	}
}

func native(t testing.TB) string {
	out, err := exec.Command("dpkg", "--print-architecture").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func foreign(t testing.TB) string {
	if native(t) == "i386" {
		return "amd64"
	}
	return "i386"
}

func (a *archive) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// built has the packages that tests have built, by control file and script: most tests use the same ones.
var built sync.Map

// build returns a package.
func (a *archive) build(t testing.TB, text string, c control, arch string) []byte {
	t.Helper()
	if body, ok := built.Load(text + c.postinst); ok {
		return body.([]byte)
	}
	tree := filepath.Join("trees", c.name+c.version+arch)
	a.write(t, filepath.Join(tree, "DEBIAN/control"), text)
	a.write(t, filepath.Join(tree, "usr/share", c.name+"-"+arch), c.version+"\n")
	if c.postinst != "" {
		a.write(t, filepath.Join(tree, "DEBIAN/postinst"), c.postinst)
		require.NoError(t, os.Chmod(filepath.Join(a.dir, tree, "DEBIAN/postinst"), 0o755))
	}
	file := filepath.Join(a.dir, tree+".deb")
	out, err := exec.Command("dpkg-deb", "-Znone", "--root-owner-group", "-b", filepath.Join(a.dir, tree), file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	built.Store(text+c.postinst, body)
	return body
}

// add puts a package into the repository and lists it.
func (a *archive) add(t testing.TB, packages *bytes.Buffer, c control, arch string) {
	t.Helper()
	text := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: test <test@localhost>\n%sDescription: test\n", c.name, c.version, arch, c.fields)
	name := fmt.Sprintf("%s_%s_%s.deb", c.name, strings.ReplaceAll(c.version, ":", "%3a"), arch)
	body := a.build(t, text, c, arch)
	a.write(t, filepath.Join("repo", name), string(body))
	fmt.Fprintf(packages, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", text, name, len(body), sha256.Sum256(body))
}

// fetch reads the repository into the lists, which all hosts share.
func (a *archive) fetch(t testing.TB) {
	t.Helper()
	root := t.TempDir()
	for _, n := range dpkgTree("") {
		path := filepath.Join(root, n.Path)
		if n.Dir {
			require.NoError(t, os.MkdirAll(path, 0o755))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(n.Text), 0o644))
		}
	}
	exit, err := a.host(root).Commands.Run(t.Context(), modules.Command{Argv: []string{"apt-get", "-q", "update"}})
	require.NoError(t, err)
	require.Zero(t, exit.Code, exit.Stderr.Text)
}

// host is a Host whose packages are below root.
func (a *archive) host(root string) modules.Host {
	h := host()
	return a.in(root, h)
}

// in makes h the host below root as far as packages are concerned.
func (a *archive) in(root string, h modules.Host) modules.Host {
	h.Commands = rootedCommands{h.Commands, a, root}
	h.Files.FileRights = rootedRights{h.Files.FileRights, root}
	if aside := h.Aside; aside != nil {
		h.Aside = func() (modules.Host, func() modules.Grade) {
			h, grade := aside()
			return a.in(root, h), grade
		}
	}
	return h
}

type rootedCommands struct {
	modules.Commands
	a    *archive
	root string
}

func (c rootedCommands) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	return c.Commands.Probe(ctx, c.rooted(cmd))
}

func (c rootedCommands) Run(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	return c.Commands.Run(ctx, c.rooted(cmd))
}

func (c rootedCommands) rooted(cmd modules.Command) modules.Command {
	conf := filepath.Join(c.a.dir, fmt.Sprintf("apt-%x.conf", sha256.Sum256([]byte(c.root))))
	if err := os.WriteFile(conf, []byte(c.conf()), 0o644); err != nil {
		panic(err)
	}
	for i, word := range cmd.Argv {
		if place, ok := places[word]; ok {
			cmd.Argv[i] = filepath.Join(c.a.dir, place)
		}
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)],
		"APT_CONFIG="+conf, "DPKG_ROOT="+c.root, "DPKG_FORCE=not-root,script-chrootless,bad-path,downgrade")
	return cmd
}

// places maps the paths of a host to folders of the archive.
var places = map[string]string{
	"/var/lib/apt/lists":      "lists",
	"/etc/apt/sources.list":   "sources.list",
	"/etc/apt/sources.list.d": "parts",
}

// conf makes apt use the archive's folders. Binary caches, which are not state, are off, so that a query changes
// nothing.
func (c rootedCommands) conf() string {
	// Without them, apt starts dpkg four times to find the architectures.
	listed, _ := os.ReadFile(filepath.Join(c.root, "var/lib/dpkg/arch")) // missing on hosts of one architecture
	architectures := strings.Fields(cmp.Or(string(listed), c.a.native))
	return strings.NewReplacer("ARCHIVE", c.a.dir, "ROOT", c.root, "ARCHITECTURES", `"`+strings.Join(architectures, `"; "`)+`";`).Replace(`
APT::Architectures { ARCHITECTURES };
Dir::State "ROOT/var/lib/apt";
Dir::State::lists "ARCHIVE/lists";
Dir::State::status "ROOT/var/lib/dpkg/status";
Dir::Cache "ARCHIVE";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc "ARCHIVE";
Dir::Etc::main "none";
Dir::Etc::parts "parts";
Dir::Etc::sourcelist "sources.list";
Dir::Etc::sourceparts "parts";
Dir::Etc::preferences "none";
Dir::Etc::preferencesparts "parts";
Dir::Etc::trustedparts "parts";
Dir::Log "ARCHIVE";
Dir::Log::planner "";
Acquire::Languages "none";
APT::Sandbox::User "";
DPkg::Options:: "--log=/dev/null";
`)
}

// rootedRights checks rights on the paths below root.
type rootedRights struct {
	modules.FileRights
	root string
}

func (r rootedRights) MayReplace(path string) error {
	return r.FileRights.MayReplace(filepath.Join(r.root, path))
}

// A rooted package is one of the host below Root.
type rooted struct {
	pkg.Package
	Root string `json:"root"`
	a    *archive
}

func (r *rooted) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return r.Package.Check(ctx, r.a.in(r.Root, h))
}

func (r *rooted) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return r.Package.Apply(ctx, r.a.in(r.Root, h), p)
}

// Watch returns the sources of the package, below the root.
func (r *rooted) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	from, err := r.Package.Watch(ctx, h)
	for _, list := range [][]string{from.Paths, from.Trees} {
		for i, path := range list {
			if strings.HasPrefix(path, "/var/") {
				list[i] = filepath.Join(r.Root, path)
			}
		}
	}
	return from, err
}

// rooted is the type package for hosts below a root of their own.
func (a *archive) rooted() modules.Type {
	typ := pkg.Type()
	typ.New = func() modules.Resource { return &rooted{a: a} }
	return typ
}
