package git

import (
	"fmt"
	"net"
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
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// run runs the git of this machine, as a user with reproducible commits.
func run(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false"}, words...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.net", "GIT_COMMITTER_NAME=ann",
		"GIT_COMMITTER_EMAIL=ann@example.net", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %s: %s", strings.Join(words, " "), out)
	return strings.TrimSpace(string(out))
}

// commit commits files of a repository, each with a text.
func commit(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "-m", "a change")
	return run(t, dir, "rev-parse", "HEAD")
}

// A source is a repository with two commits, the first of which is tagged v1.
type source struct{ dir, copies, one, two string }

func newSource(t *testing.T) source {
	t.Helper()
	needs.Program(t, "git")
	s := source{dir: t.TempDir(), copies: t.TempDir()}
	run(t, s.dir, "init", "-q")
	s.one = commit(t, s.dir, map[string]string{"app.txt": "one\n", "etc/app.conf": "port = 1\n"})
	run(t, s.dir, "tag", "-a", "-m", "the first", "v1")
	s.two = commit(t, s.dir, map[string]string{"app.txt": "two\n"})
	return s
}

// cloned prepares a checkout at d, and does more to it.
func (s source) cloned(commit string, more func(t *testing.T, d string)) func(t *testing.T, root string) {
	made := "" // copied each time, which is cheaper than git
	return func(t *testing.T, root string) {
		if made == "" {
			var err error
			made, err = os.MkdirTemp(s.copies, "")
			require.NoError(t, err)
			run(t, made, "clone", "-q", s.dir, ".")
			if commit != "" {
				run(t, made, "checkout", "-q", commit)
			}
			if more != nil {
				more(t, made)
			}
		}
		require.NoError(t, os.CopyFS(filepath.Join(root, "d"), os.DirFS(made)))
	}
}

func put(t *testing.T, text string, at ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(at...), []byte(text), 0o644))
}

func TestConverges(t *testing.T) {
	s := newSource(t)
	revision := func(have, want string) modules.Change {
		return modules.Change{Property: "revision", Have: have, Want: want}
	}
	props := func(more string) string { return fmt.Sprintf(`{"name":"$ROOT/d","source":%q%s}`, s.dir, more) }
	at := func(commit string) string { return props(fmt.Sprintf(`,"revision":%q`, commit)) }
	for _, f := range []modtest.Fixture{
		{Name: "a commit", Properties: at(s.one), Action: "cloned the repository", Changes: []modules.Change{revision(absent, s.one)}},
		{Name: "a tag", Properties: at("v1"), Action: "cloned the repository", Changes: []modules.Change{revision(absent, s.one)}},
		{Name: "a branch", Properties: at("main"), Action: "cloned the repository", Changes: []modules.Change{revision(absent, s.two)}},
		{Name: "whatever there is", Properties: props(""), Action: "cloned the repository", Changes: []modules.Change{revision(absent, s.two)}},
		{
			Name: "into an empty directory", Tree: []modtest.Node{{Path: "d", Dir: true, Mode: 0o750}}, Properties: at(s.one),
			Action: "cloned the repository", Changes: []modules.Change{revision(absent, s.one)},
		},
		{Name: "there", Prepare: s.cloned(s.one, nil), Properties: at(s.one)},
		{Name: "there, as a branch", Prepare: s.cloned("", nil), Properties: at("main")},
		{Name: "there, and not updated", Prepare: s.cloned(s.one, nil), Properties: props(`,"revision":"main","update":false`)},
		{Name: "another commit", Prepare: s.cloned("", nil), Properties: at(s.one), Action: "checked out " + s.one[:12], Changes: []modules.Change{revision(s.two, s.one)}},
		{
			Name: "another source", Prepare: s.cloned(s.one, func(t *testing.T, d string) { run(t, d, "remote", "set-url", "origin", "/old") }), Properties: at(s.one),
			Action: "changed the source", Changes: []modules.Change{{Property: "source", Have: "/old", Want: s.dir}},
		},
		{
			Name: "no source", Prepare: s.cloned(s.two, func(t *testing.T, d string) { run(t, d, "remote", "remove", "origin") }), Properties: at(s.one),
			Action: "checked out " + s.one[:12], Changes: []modules.Change{revision(s.two, s.one), {Property: "source", Have: "", Want: s.dir}},
		},
		{
			Name: "files that nobody knows stay", Prepare: s.cloned(s.two, func(t *testing.T, d string) { put(t, "mine\n", d, "mine") }), Properties: at(s.one),
			Action: "checked out " + s.one[:12], Changes: []modules.Change{revision(s.two, s.one)},
		},
		{
			Name: "changed files", Prepare: s.cloned("", func(t *testing.T, d string) { put(t, "mine\n", d, "app.txt") }), Properties: at(s.one),
			Err: `files in "$ROOT/d" have local changes: app.txt (commit or remove that; with 'force: true' it is kept as a commit, and does not stop the play)`,
		},
		{
			Name: "changed files, forced", Prepare: s.cloned(s.one, func(t *testing.T, d string) { put(t, "mine\n", d, "app.txt") }), Properties: props(fmt.Sprintf(`,"force":true,"revision":%q`, s.one)),
			Action: "put back changed files", Changes: []modules.Change{{Property: "changed files", Have: "app.txt", Want: "none"}},
		},
		{
			Name: "a commit of somebody", Prepare: s.cloned(s.one, func(t *testing.T, d string) { commit(t, d, map[string]string{"app.txt": "mine\n"}) }), Properties: at(s.one),
			Err: `commit 5b2615dafdff, which is checked out in "$ROOT/d", is on no branch and would be lost (give it one; with 'force: true' it is kept)`,
		},
		{Name: "not empty", Tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "d/x", Text: "x"}}, Properties: at(s.one), Err: `"$ROOT/d" is not a checkout, and not empty: move its files away`},
		{Name: "a file", Tree: []modtest.Node{{Path: "d", Text: "x"}}, Properties: at(s.one), Err: `"$ROOT/d" is not a directory, but a file`},
		{Name: "no parent", Properties: fmt.Sprintf(`{"name":"$ROOT/no/d","source":%q}`, s.dir), Err: `the directory "$ROOT/no" does not exist (create it with a file resource that has ensure: directory)`},
		{Name: "no such revision", Properties: at("v2"), Err: `the source has no tag and no branch "v2"`},
		{Name: "no such source", Properties: `{"name":"$ROOT/d","source":"$ROOT/none","revision":"main"}`, Err: `git ls-remote: '$ROOT/none' does not appear to be a git repository`},
		{Name: "absent", Properties: `{"name":"$ROOT/d","ensure":"absent"}`},
		{
			Name: "no longer", Prepare: s.cloned(s.one, nil), Properties: `{"name":"$ROOT/d","ensure":"absent"}`,
			Action: "removed the checkout", Changes: []modules.Change{{Property: "ensure", Have: present, Want: absent}},
		},
		{
			Name: "no longer, with a file that is nowhere else", Prepare: s.cloned(s.one, func(t *testing.T, d string) { put(t, "mine\n", d, "mine") }), Properties: `{"name":"$ROOT/d","ensure":"absent"}`,
			Err: `"$ROOT/d" has files that are in no commit: mine (with 'force: true' it is removed all the same)`,
		},
		{
			Name: "no longer, with a commit that is nowhere else", Prepare: s.cloned("", func(t *testing.T, d string) { commit(t, d, map[string]string{"app.txt": "mine\n"}) }), Properties: `{"name":"$ROOT/d","ensure":"absent"}`,
			Err: `"$ROOT/d" has commits that only it has, such as 71a47150ccd0 (with 'force: true' it is removed all the same)`,
		},
	} {
		f.Opaque = "d/.git"
		modtest.Converges(t, Type(), f)
	}
}

// on is a resource, validated.
func on(t *testing.T, root, properties string) *Git {
	t.Helper()
	return modtest.Decode(t, modules.Registry{Type()}, "git", properties, root).(*Git)
}

// apply checks and applies a resource, and requires that a second check finds nothing.
func apply(t *testing.T, g *Git) (modules.Plan, error) {
	t.Helper()
	h := modtest.Host()
	plan, err := g.Check(t.Context(), modules.ReadOnly(h))
	if err != nil {
		return plan, err
	}
	if err := g.Apply(t.Context(), h, plan); err != nil {
		return plan, err
	}
	again, err := g.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, again)
	return plan, nil
}

// TestForceKeeps discards local changes in a checkout, which can still be found there.
func TestForceKeeps(t *testing.T) {
	s, root := newSource(t), t.TempDir()
	s.cloned(s.one, func(t *testing.T, d string) {
		commit(t, d, map[string]string{"mine": "mine\n"})
		put(t, "edited\n", d, "app.txt")
	})(t, root)
	d := filepath.Join(root, "d")
	_, err := apply(t, on(t, root, fmt.Sprintf(`{"name":"$ROOT/d","source":%q,"revision":"main","force":true}`, s.dir)))
	require.NoError(t, err)
	require.Equal(t, s.two, run(t, d, "rev-parse", "HEAD"))
	require.NoFileExists(t, filepath.Join(d, "mine"))
	var texts []string
	for _, ref := range strings.Fields(run(t, d, "for-each-ref", "--format=%(refname)", keptRefs)) {
		texts = append(texts, run(t, d, "show", ref+":app.txt"), run(t, d, "show", ref+":mine"))
	}
	require.ElementsMatch(t, []string{"one", "mine", "edited", "mine"}, texts)
}

// TestInTheWay creates a local file at a path that the new commit has: it fails, and the file is kept.
func TestInTheWay(t *testing.T) {
	s, root := newSource(t), t.TempDir()
	three := commit(t, s.dir, map[string]string{"new": "new\n", "secret.log": "new\n"})
	s.cloned(s.one, func(t *testing.T, d string) {
		put(t, "secret.log\n", d, ".git", "info", "exclude")
		put(t, "mine\n", d, "secret.log")
	})(t, root)
	_, err := apply(t, on(t, root, fmt.Sprintf(`{"name":"$ROOT/d","source":%q,"revision":%q,"force":true}`, s.dir, three)))
	require.ErrorContains(t, err, "secret.log")
	text, err := os.ReadFile(filepath.Join(root, "d", "secret.log"))
	require.NoError(t, err)
	require.Equal(t, "mine\n", string(text))
}

// TestHooksAreNotRun uses a checkout with everything that could make git run a program.
func TestHooksAreNotRun(t *testing.T) {
	s, root := newSource(t), t.TempDir()
	ran := filepath.Join(root, "ran")
	s.cloned(s.one, func(t *testing.T, d string) {
		for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "post-merge"} {
			require.NoError(t, os.WriteFile(filepath.Join(d, ".git", "hooks", hook), []byte("#!/bin/sh\necho "+hook+" >>"+ran+"\n"), 0o755))
		}
		run(t, d, "config", "core.fsmonitor", filepath.Join(d, ".git/hooks/fsmonitor-watchman"))
	})(t, root)
	for _, revision := range []string{"main", s.one} {
		run(t, filepath.Join(root, "d"), "checkout", "-q", revision)
	}
	require.NoError(t, os.Remove(ran), "none of them works")
	_, err := apply(t, on(t, root, fmt.Sprintf(`{"name":"$ROOT/d","source":%q,"revision":"main"}`, s.dir)))
	require.NoError(t, err)
	require.NoFileExists(t, ran)
}

// TestSubmodules checks submodules out over a permitted protocol, and refuses one with which a repository could copy
// other files of the host.
func TestSubmodules(t *testing.T) {
	s, lib, root := newSource(t), newSource(t), t.TempDir()
	web := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(lib.dir, ".git"))))
	defer web.Close()
	run(t, lib.dir, "update-server-info")
	run(t, s.dir, "submodule", "--quiet", "add", web.URL, "lib")
	run(t, s.dir, "commit", "-q", "-m", "a library")
	with := fmt.Sprintf(`{"name":"$ROOT/d","source":%q,"submodules":true}`, s.dir)
	g := on(t, root, with)
	plan, err := apply(t, g)
	require.NoError(t, err)
	require.Equal(t, "cloned the repository", plan.Action)
	require.FileExists(t, filepath.Join(root, "d/lib/app.txt"))

	run(t, filepath.Join(root, "d/lib"), "checkout", "-q", lib.one)
	plan, err = apply(t, g)
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "submodules", Have: "1 differ", Want: "as the commit has them"}}, plan.Changes)
	require.Equal(t, lib.two, run(t, filepath.Join(root, "d/lib"), "rev-parse", "HEAD"))

	put(t, "mine\n", root, "d/lib/app.txt")
	_, err = apply(t, g)
	require.EqualError(t, err, fmt.Sprintf(`files in the submodules lib of %q have local changes: commit or revert these changes on the host`, filepath.Join(root, "d")))

	run(t, s.dir, "submodule", "--quiet", "add", lib.dir, "stolen")
	run(t, s.dir, "commit", "-q", "-m", "another one")
	other := t.TempDir()
	_, err = apply(t, on(t, other, with))
	require.ErrorContains(t, err, "transport 'file' not allowed")
	require.NoDirExists(t, filepath.Join(other, "d"), "half a checkout has been left")
	require.NoDirExists(t, filepath.Join(other, ".d.ccm-push"))
}

// TestBare uses a bare source at a path.
func TestBare(t *testing.T) {
	s, root := newSource(t), t.TempDir()
	run(t, root, "clone", "-q", "--bare", s.dir, "bare.git")
	_, err := apply(t, on(t, root, `{"name":"$ROOT/d","source":"$ROOT/bare.git","revision":"v1"}`))
	require.NoError(t, err)
}

func TestDepth(t *testing.T) {
	s, root := newSource(t), t.TempDir()
	g := on(t, root, fmt.Sprintf(`{"name":"$ROOT/d","source":"file://%s","revision":"main","depth":1}`, s.dir))
	_, err := apply(t, g)
	require.NoError(t, err)
	d := filepath.Join(root, "d")
	require.Equal(t, "1", run(t, d, "rev-list", "--count", "HEAD"))
	three := commit(t, s.dir, map[string]string{"app.txt": "three\n"})
	_, err = apply(t, g)
	require.NoError(t, err)
	require.Equal(t, three, run(t, d, "rev-parse", "HEAD"))
}

// TestSigners checks a commit out only if a signer of the file has signed it, and no other signer.
func TestSigners(t *testing.T) {
	needs.Program(t, "ssh-keygen")
	s, root := newSource(t), t.TempDir()
	for _, who := range []string{"ann", "eve"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(root, who)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	signedBy := func(who string) string {
		put(t, who, s.dir, "app.txt")
		run(t, s.dir, "-c", "gpg.format=ssh", "-c", "user.signingKey="+filepath.Join(root, who+".pub"), "commit", "-q", "-a", "-S", "-m", "signed")
		return run(t, s.dir, "rev-parse", "HEAD")
	}
	ann, eve := signedBy("ann"), signedBy("eve")
	key, err := os.ReadFile(filepath.Join(root, "ann.pub"))
	require.NoError(t, err)
	put(t, "ann@example.net "+string(key), root, "signers")
	at := func(commit string) *Git {
		return on(t, root, fmt.Sprintf(`{"name":"$ROOT/d","source":%q,"revision":%q,"signers":"$ROOT/signers"}`, s.dir, commit))
	}
	for _, wrong := range []string{eve, s.one} {
		_, err := apply(t, at(wrong))
		require.EqualError(t, err, fmt.Sprintf("commit %s is not signed by any signer in %s", wrong[:12], filepath.Join(root, "signers")))
		require.NoDirExists(t, filepath.Join(root, "d"))
	}
	_, err = apply(t, at(ann))
	require.NoError(t, err)
	_, err = apply(t, at(eve))
	require.ErrorContains(t, err, "is not signed by any signer in")

	require.NoError(t, os.Chmod(filepath.Join(root, "signers"), 0o666))
	_, err = at(ann).Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, "signers: everybody can change "+filepath.Join(root, "signers"))
	require.NoError(t, os.Chmod(filepath.Join(root, "signers"), 0o600))

	put(t, "ann@example.net "+strings.Replace(string(key), "AAAA", "AAAB", 1), root, "signers")
	_, err = at(ann).Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.ErrorContains(t, err, "is not signed by any signer in", "what is checked out is looked at too")
}

func TestPredicts(t *testing.T) {
	s := newSource(t)
	step := func(revision string) modtest.Step {
		return modtest.Step{Type: "git", Properties: fmt.Sprintf(`{"name":"$ROOT/a/d","source":%q,"revision":%q}`, s.dir, revision)}
	}
	modtest.Predicts(t, modules.Registry{file.Type(), Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			{Type: "file", Properties: `{"name":"$ROOT/a","ensure":"directory"}`},
			step(s.one), step(strings.ToUpper(s.one)), step(s.two),
			{Type: "git", Properties: `{"name":"$ROOT/a/d","ensure":"absent"}`},
			{Type: "git", Properties: `{"name":"$ROOT/a/d","ensure":"absent"}`},
			step(s.two),
		},
		Want: []string{"changed", "changed likely", "stable likely", "changed likely", "changed unknown", "stable unknown", "changed unknown"},
	})
}

// TestPredictsWithoutNetwork uses an existing checkout of an unreachable source: a revision that is a commit is
// certain.
func TestPredictsWithoutNetwork(t *testing.T) {
	s := newSource(t)
	root := t.TempDir()
	s.cloned(s.one, func(t *testing.T, d string) { run(t, d, "remote", "set-url", "origin", "https://192.0.2.1/app.git") })(t, root)
	at := fmt.Sprintf(`{"name":"%s/d","source":"https://192.0.2.1/app.git","revision":%q}`, root, s.one)
	moved := strings.Replace(at, "192.0.2.1/", "192.0.2.2/", 1)
	modtest.Predicts(t, modules.Registry{Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			{Type: "git", Properties: at}, {Type: "git", Properties: moved}, {Type: "git", Properties: moved},
			{Type: "git", Properties: fmt.Sprintf(`{"name":"%s/d","ensure":"absent"}`, root)},
		},
		Want: []string{"stable", "changed", "stable", "changed"},
	})
}

func TestDescribe(t *testing.T) {
	s, root := newSource(t), t.TempDir()
	s.cloned("", func(t *testing.T, d string) {
		run(t, d, "remote", "set-url", "origin", "https://ann:secret@example.net/app.git")
		put(t, "mine", d, "app.txt")
	})(t, root)
	g := on(t, root, `{"name":"$ROOT/d","ensure":"absent"}`)
	modtest.Describes(t, modtest.Host(), g, fmt.Sprintf(`{"ensure":"present","name":"%s/d","source":"https://example.net/app.git","commit":%q,"branch":"main","changed":["app.txt"]}`, root, s.two))
	_, err := g.Reversal(t.Context(), modtest.Host(), nil)
	require.ErrorContains(t, err, "not restored")
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Git]{
		{Name: "https", Of: Git{Name: "/srv/app", Source: "https://example.net/app.git"}},
		{Name: "ssh", Of: Git{Name: "/srv/app", Source: "ssh://git@example.net:2222/app.git", Key: "/root/.ssh/deploy"}},
		{Name: "user and host", Of: Git{Name: "/srv/app", Source: "git@example.net:team/app.git", Revision: "release/1.2"}},
		{Name: "a path", Of: Git{Name: "/srv/app", Source: "/srv/git/app.git", Revision: "refs/tags/v1"}},
		{Name: "absent", Of: Git{Name: "/srv/app", Ensure: absent}},
		{Name: "no source", Of: Git{Name: "/srv/app"}, Err: `source: "source" cannot be empty (write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path)`},
		{Name: "a command", Of: Git{Name: "/srv/app", Source: "ext::sh -c id"}, Err: `source: "source" is not a repository (write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path)`},
		{Name: "an option", Of: Git{Name: "/srv/app", Source: "--upload-pack=id:x"}, Err: `source: "source" is not a repository (write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path)`},
		{Name: "an option as path", Of: Git{Name: "/srv/app", Source: "host:--x"}, Err: `source: "source" is not a repository (write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path)`},
		{Name: "an option as host", Of: Git{Name: "/srv/app", Source: "ssh://-oProxyCommand=id/x"}, Err: `source: "source" names no host (write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path)`},
		{Name: "another scheme", Of: Git{Name: "/srv/app", Source: "ftp://h/x"}, Err: `source: "source" has the scheme ftp, which is not supported (write https://host/path.git, ssh://user@host/path.git, user@host:path.git or an absolute path)`},
		{Name: "a secret", Of: Git{Name: "/srv/app", Source: "https://ann:x@h/x"}, Err: `source: a user or password in "source" would be seen in the arguments of git (remove it, and store it in the user's ~/.netrc or credential helper)`},
		{Name: "part of a commit", Of: Git{Name: "/srv/app", Source: "/x", Revision: "1a2b3c4d"}, Err: "revision: a shortened commit id is not a valid revision (write the commit in full: 40 hex digits, as git rev-parse prints them)"},
		{Name: "an option as revision", Of: Git{Name: "/srv/app", Source: "/x", Revision: "--all"}, Err: `revision: "--all" is not a commit, tag or branch`},
		{Name: "another commit", Of: Git{Name: "/srv/app", Source: "/x", Revision: "main~1"}, Err: `revision: "main~1" is not a commit, tag or branch`},
		{Name: "depth", Of: Git{Name: "/srv/app", Source: "/x", Depth: -1}, Err: `depth: "depth" must be 0 or more, not -1`},
	})
}

// TestCheckoutOfAnotherUser runs git as another user; this user owns the whole checkout.
func TestCheckoutOfAnotherUser(t *testing.T) {
	needs.Root(t, "only root can act for others")
	s, root := newSource(t), t.TempDir()
	for _, dir := range []string{filepath.Dir(root), root, filepath.Dir(s.dir), s.dir} {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	web := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(s.dir, ".git"))))
	defer web.Close()
	run(t, s.dir, "update-server-info")
	properties := fmt.Sprintf(`{"name":"$ROOT/d","source":%q,"revision":"v1","user":"nobody"}`, web.URL)
	_, err := apply(t, on(t, root, properties))
	require.NoError(t, err)
	d := filepath.Join(root, "d")
	nobody, err := modtest.Host().Accounts.UserID(t.Context(), "nobody")
	require.NoError(t, err)
	seen := modtest.State(t, d)
	for name, is := range seen {
		require.Equal(t, nobody, is.UID, name)
		require.Equal(t, seen["."].GID, is.GID, name)
	}

	_, err = apply(t, on(t, root, strings.Replace(properties, `"nobody"`, `""`, 1)))
	require.EqualError(t, err, fmt.Sprintf("the folder %q belongs to user nobody, and git refuses to run in this folder as user root (write 'user: nobody', or change the owner)", d))
}

// TestUnknownGitServer uses a server with an unknown key: git shows no prompt, and the server is not trusted.
func TestUnknownGitServer(t *testing.T) {
	newSource(t) // skips the test if git is missing
	sshd := needs.Program(t, "sshd", "ssh", "ssh-keygen")
	dir := t.TempDir()
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "host")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	put(t, "UsePAM no\n", dir, "config")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			file, _ := conn.(*net.TCPConn).File()
			cmd := exec.Command(sshd, "-i", "-f", filepath.Join(dir, "config"), "-h", filepath.Join(dir, "host"))
			cmd.Stdin, cmd.Stdout = file, file
			cmd.Run()
			file.Close()
			conn.Close()
		}
	})
	_, err = on(t, dir, fmt.Sprintf(`{"name":"$ROOT/d","source":"ssh://ann@%s/app.git"}`, l.Addr())).Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, "git ls-remote: the known_hosts file of the user does not have the host key of the server, or has another key (add the key with a known_host resource)")
}
