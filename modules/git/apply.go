package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

const (
	// currentRef is the commit that was checked out last, so that it is not mistaken for a local commit.
	currentRef = "refs/ccm-push/current"
	// keptRefs contains the commits that force has stored.
	keptRefs = "refs/ccm-push/kept"
)

// Apply implements [modules.Resource].
func (g *Git) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a checkout")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case g.Ensure == absent:
		err := h.Files.Remove(ctx, g.Name, true)
		if err == nil && g.Directory {
			err = h.Files.MakeDir(ctx, g.Name, do.into)
		}
		return err
	case do.have.commit == "" && !do.have.is:
		return g.clone(ctx, h, do)
	}
	return g.update(ctx, h, do)
}

// clone makes the checkout next to its path, and renames it when it is complete.
func (g *Git) clone(ctx context.Context, h modules.Host, do steps) (err error) {
	temp := path.Join(path.Dir(g.Name), "."+path.Base(g.Name)+".ccm-push")
	if err := h.Files.Remove(ctx, temp, true); err != nil && !modules.NotThere(err) { // left by an interrupted run
		return err
	}
	at := program{g, h, temp}
	if do.into.GID < 0 {
		if do.into.GID, err = at.group(ctx); err != nil {
			return err
		}
	}
	if err := h.Files.MakeDir(ctx, temp, do.into); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if left := h.Files.Remove(context.WithoutCancel(ctx), temp, true); left != nil && !modules.NotThere(left) {
			err = fmt.Errorf("%w; %s could not be removed: %w", err, temp, left)
		}
	}()
	if _, err := at.do(ctx, "init", "--quiet", "--template="); err != nil {
		return err
	}
	if _, err := at.do(ctx, "remote", "add", "--", "origin", g.Source); err != nil {
		return err
	}
	if err := at.checkOut(ctx, do); err != nil {
		return err
	}
	if do.have.dir.Kind == modules.Directory { // still empty, or this fails
		if err := h.Files.Remove(ctx, g.Name, false); err != nil {
			return err
		}
	}
	dir, err := h.Files.OpenDirectory(path.Dir(g.Name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Rename(path.Base(temp), path.Base(g.Name))
}

// group is the primary group of the user; -1 means the process's own.
func (p program) group(ctx context.Context) (int, error) {
	if p.g.User == "" {
		return -1, nil
	}
	exit, err := p.h.Commands.Probe(ctx, modules.Command{Argv: []string{"id", "-g"}, User: p.g.User, Timeout: lookTime})
	if err != nil {
		return 0, err
	}
	if exit.Code != 0 {
		return 0, failed("id -g", exit)
	}
	return strconv.Atoi(strings.TrimSpace(exit.Stdout.Text))
}

// update changes an existing checkout to the desired commit.
func (g *Git) update(ctx context.Context, h modules.Host, do steps) error {
	at := program{g, h, g.Name}
	switch {
	case do.have.source == "":
		if _, err := at.do(ctx, "remote", "add", "--", "origin", g.Source); err != nil {
			return err
		}
	case do.have.source != g.Source:
		if _, err := at.do(ctx, "remote", "set-url", "--", "origin", g.Source); err != nil {
			return err
		}
	}
	if err := at.keep(ctx, do); err != nil {
		return err
	}
	return at.checkOut(ctx, do)
}

// keep stores local changes as commits.
func (p program) keep(ctx context.Context, do steps) error {
	if do.lone {
		if err := p.keepAs(ctx, do.have.commit, "the commit that was checked out"); err != nil {
			return err
		}
	}
	if len(do.have.changed) == 0 {
		return nil
	}
	text, err := p.do(ctx, "stash", "create", "changes that ccm-push has found")
	if err != nil {
		return err
	}
	commit := strings.TrimSpace(text)
	if !commitID().MatchString(commit) {
		return errors.New("git stash has not kept the changes")
	}
	if err := p.keepAs(ctx, commit, "the changed content of "+some(do.have.changed)); err != nil {
		return err
	}
	_, err = p.do(ctx, "reset", "--quiet", "--hard")
	return err
}

func (p program) keepAs(ctx context.Context, commit, what string) error {
	ref := keptRefs + "/" + short(commit)
	if _, err := p.do(ctx, "update-ref", ref, commit); err != nil {
		return err
	}
	p.h.Report.Message(modules.LevelWarning, what+" is kept as "+ref)
	return nil
}

// checkOut fetches missing commits, verifies the signature, and then checks out the commit.
func (p program) checkOut(ctx context.Context, do steps) error {
	there, err := p.has(ctx, do.want)
	if err == nil && !there {
		err = p.fetch(ctx, do.want)
	}
	if err != nil {
		return err
	}
	if err := p.verify(ctx, do.want); err != nil {
		return err
	}
	if do.have.commit != do.want {
		// HEAD is detached, so this never moves a local branch. It does not overwrite ignored files.
		if _, err := p.do(ctx, "checkout", "--quiet", "--detach", "--no-overwrite-ignore", do.want, "--"); err != nil {
			return err
		}
	}
	if _, err := p.do(ctx, "update-ref", currentRef, do.want); err != nil {
		return err
	}
	if p.g.Submodules {
		words := []string{"submodule", "--quiet", "update", "--init", "--recursive", "--checkout"}
		if p.g.Depth > 0 {
			words = append(words, "--depth", strconv.Itoa(p.g.Depth))
		}
		if _, err := p.do(ctx, "submodule", "--quiet", "sync", "--recursive"); err != nil {
			return err
		}
		if _, err := p.do(ctx, words...); err != nil {
			return err
		}
	}
	if p.g.Branch != "" && p.g.Branch != do.have.branch {
		_, err = p.do(ctx, "checkout", "--quiet", p.g.Branch, "--")
	}
	return err
}

// fetch gets a commit: with all branches and tags, or with as much history as is wanted.
func (p program) fetch(ctx context.Context, commit string) error {
	if p.g.Depth > 0 {
		_, err := p.do(ctx, "fetch", "--quiet", "--no-tags", "--depth", strconv.Itoa(p.g.Depth), "origin", commit)
		if err != nil {
			err = fmt.Errorf(`%w (if the source does not support a partial history, remove "depth")`, err)
		}
		return err
	}
	if _, err := p.do(ctx, "fetch", "--quiet", "--force", "--tags", "origin", "+refs/heads/*:refs/remotes/origin/*"); err != nil {
		return err
	}
	there, err := p.has(ctx, commit)
	if err != nil || there {
		return err
	}
	// The commit may be on no branch and no tag; some servers send it all the same.
	if _, err := p.do(ctx, "fetch", "--quiet", "origin", commit); err != nil {
		return fmt.Errorf("the source does not give commit %s: %w", short(commit), err)
	}
	return nil
}
