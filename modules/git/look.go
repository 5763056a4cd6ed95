package git

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A checkout is the current state of the path.
type checkout struct {
	is        bool             // a repository
	dir       modules.FileInfo // info about the directory; zero if it does not exist
	commit    string           // commit of HEAD; empty means none
	branch    string           // branch of HEAD; empty means none
	source    string
	changed   []string // files with local changes
	stuck     []string // submodules with local changes
	modules   int      // submodules that differ from the commit
	predicted bool     // the path does not exist yet, so git cannot be run there
}

// find looks at the path.
func (g *Git) find(ctx context.Context, h modules.Host) (checkout, error) {
	var c checkout
	dir, err := h.Files.Stat(g.Name)
	switch {
	case modules.NotThere(err):
		return c, nil
	case err != nil:
		return c, modules.PermissionRefusal(err)
	case dir.Kind != modules.Directory:
		return c, modules.Refuse("%q is not a directory, but a %s", g.Name, dir.Kind)
	}
	c.dir = dir
	names, err := h.Files.List(g.Name)
	if err != nil {
		return c, modules.PermissionRefusal(err)
	}
	if len(names) == 0 {
		return c, nil
	}
	at, err := h.Files.Stat(path.Join(g.Name, ".git"))
	switch {
	case modules.NotThere(err):
		h.Forecast.Lookup(modules.AnyEffect, "") // a command that is pending may clone it
		return c, modules.Refuse("%q is not a checkout, and not empty: move its files away", g.Name)
	case err != nil:
		return c, modules.PermissionRefusal(err)
	case at.Kind != modules.Directory:
		return c, modules.Refuse("%q is a worktree of another repository", g.Name)
	}
	uid, err := h.Accounts.UserID(ctx, g.who())
	if err != nil {
		return c, modules.Refuse("user: %w", err)
	}
	if dir.UID != uid || at.UID != uid {
		// git would apply the settings of another user's repository as the user of the play.
		other := at.UID
		if dir.UID != uid {
			other = dir.UID
		}
		return c, g.belongs(ctx, h, other, uid)
	}
	c.is = true
	return c, program{g, h, g.Name}.state(ctx, &c)
}

// belongs refuses a directory that does not belong to the user that git runs as.
func (g *Git) belongs(ctx context.Context, h modules.Host, other, uid int) error {
	owner := h.Accounts.UserName(ctx, other)
	return modules.Refuse("the folder %q belongs to user %s, and git refuses to run in this folder as user %s (write 'user: %s', or change the owner)", g.Name, owner, h.Accounts.UserName(ctx, uid), owner)
}

// state runs git to read the state of the checkout.
func (p program) state(ctx context.Context, c *checkout) error {
	ignored := "all"
	if p.g.Submodules {
		ignored = "untracked"
	}
	text, err := p.answer(ctx, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=no", "--ignore-submodules="+ignored)
	if err != nil {
		return err
	}
	c.read(text)
	exit, err := p.ask(ctx, "config", "--local", "--get", "remote.origin.url")
	if err != nil {
		return err
	}
	c.source = strings.TrimSpace(exit.Stdout.Text)
	if !p.g.Submodules || c.commit == "" {
		return nil
	}
	text, err = p.answer(ctx, "submodule", "status", "--recursive")
	for line := range strings.Lines(text) {
		if line[0] != ' ' {
			c.modules++
		}
	}
	return err
}

// read parses the output of git status (git-status(1), Porcelain Format Version 2).
func (c *checkout) read(text string) {
	entries := strings.Split(text, "\x00")
	for i := 0; i < len(entries); i++ {
		words := strings.Split(entries[i], " ")
		switch {
		case len(words) >= 3 && words[0] == "#" && words[1] == "branch.oid" && words[2] != "(initial)":
			c.commit = words[2]
		case len(words) >= 3 && words[0] == "#" && words[1] == "branch.head" && words[2] != "(detached)":
			c.branch = words[2]
		case len(words) > 8 && words[0] == "1":
			c.change(words[2], words[1], strings.Join(words[8:], " "))
		case len(words) > 9 && words[0] == "2":
			i++ // skip its old name
			c.change(words[2], words[1], strings.Join(words[9:], " "))
		case len(words) > 10 && words[0] == "u":
			c.change("N...", "U", strings.Join(words[10:], " "))
		}
	}
}

// change notes a path that differs from the commit. of is the state of a submodule: SCMU.
func (c *checkout) change(of, how, name string) {
	switch {
	case !strings.HasPrefix(of, "S") || how[0] != '.':
		c.changed = append(c.changed, name)
	case len(of) > 2 && of[2] == 'M':
		c.stuck = append(c.stuck, name)
	} // a submodule at another commit is counted as different
}

// wanted returns the commit to check out.
func (g *Git) wanted(ctx context.Context, h modules.Host, c checkout) (string, error) {
	switch {
	case !g.updates() && c.commit != "":
		return c.commit, nil
	case commitID().MatchString(g.Revision):
		return strings.ToLower(g.Revision), nil
	}
	return program{g: g, h: h}.askSource(ctx)
}

// askSource queries the source for the current commit of the revision.
func (p program) askSource(ctx context.Context) (string, error) {
	name := p.g.Revision
	patterns := []string{name, name + "^{}"}
	if name == "" || name == "HEAD" {
		name, patterns = "HEAD", []string{"HEAD"}
	}
	exit, err := p.ask(ctx, append([]string{"ls-remote", "--", p.g.Source}, patterns...)...)
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", failed("ls-remote", exit)
	}
	refs := map[string]string{}
	for line := range strings.Lines(exit.Stdout.Text) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && commitID().MatchString(commit) {
			refs[ref] = commit
		}
	}
	at := func(ref string) string {
		if peeled := refs[ref+"^{}"]; peeled != "" { // the commit of an annotated tag
			return peeled
		}
		return refs[ref]
	}
	tag, branch := at("refs/tags/"+name), at("refs/heads/"+name)
	switch {
	case at(name) != "":
		return at(name), nil
	case tag != "" && branch != "" && tag != branch:
		return "", modules.Refuse("%s is both a tag and a branch of the source (write refs/tags/%s or refs/heads/%s)", name, name, name)
	case tag != "":
		return tag, nil
	case branch != "":
		return branch, nil
	}
	return "", modules.Refuse("the source has no tag and no branch %q", name)
}

// has reports whether the repository contains a commit.
func (p program) has(ctx context.Context, commit string) (bool, error) {
	exit, err := p.ask(ctx, "cat-file", "-e", commit+"^{commit}")
	return exit.Code == 0, err
}

// verify refuses a commit that no allowed signer has signed.
func (p program) verify(ctx context.Context, commit string) error {
	if p.g.Signers == "" {
		return nil
	}
	uid, err := p.h.Accounts.UserID(ctx, p.g.who())
	if err == nil {
		err = modules.OthersMayChange(p.h.Files, p.g.Signers, uid)
	}
	if err != nil {
		return modules.Refuse("signers: %w", err)
	}
	var words []string
	for _, s := range signed(p.g.Signers) {
		words = append(words, "-c", s)
	}
	exit, err := p.ask(ctx, append(words, "verify-commit", commit)...)
	if err == nil && exit.Code != 0 {
		return modules.Refuse("commit %s is not signed by any signer in %s", short(commit), p.g.Signers)
	}
	return err
}

// own describes the content that only this checkout has, apart from changed files; "" means none.
func (p program) own(ctx context.Context, have checkout) (string, error) {
	text, err := p.answer(ctx, "status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=none")
	if err != nil {
		return "", err
	}
	if names := strings.Split(strings.TrimRight(text, "\x00"), "\x00"); names[0] != "" {
		return "files that are in no commit: " + some(trimmed(names)), nil
	}
	if have.commit == "" {
		return "", nil
	}
	text, err = p.answer(ctx, "rev-list", "--max-count=1", "--ignore-missing", "--all", "HEAD", "--not", "--remotes", "--tags", currentRef)
	if err != nil || text == "" {
		return "", err
	}
	return "commits that only it has, such as " + short(strings.TrimSpace(text)), nil
}

// trimmed are the paths of git status without their state.
func trimmed(entries []string) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e[min(3, len(e)):])
	}
	return names
}

// some are names for people: the first ones.
func some(names []string) string {
	const shown = 5
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// shown is a source without possible secrets.
func shown(source string) string {
	if strings.Contains(source, "://") {
		return modules.ShownURL(source)
	}
	return source
}

func short(commit string) string { return commit[:min(12, len(commit))] }
