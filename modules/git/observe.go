package git

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser]: the directory as git knows it.
func (g *Git) Subject() string { return g.Name + "\ncheckout" }

// Reversal implements [modules.Reverser]: the commit that was checked out, with its branch, or no
// checkout.
func (g *Git) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	have, err := g.find(ctx, h)
	switch {
	case err != nil:
		return nil, err
	case len(have.changed) > 0:
		return nil, modules.Refuse("local changes in it are kept below %s, and not restored", keptRefs)
	case have.is && have.commit == "":
		return nil, modules.Refuse("%q was a repository without a commit", g.Name)
	}
	back := map[string]any{"ensure": absent}
	if !have.is && have.dir.Kind == modules.Directory {
		back["directory"] = true
	}
	if have.is {
		if (&Git{Source: have.source}).validateSource() != nil {
			return nil, modules.Refuse("%q has no source from which it could be brought back", g.Name)
		}
		back = map[string]any{"source": have.source, "revision": have.commit}
		if have.branch != "" {
			back["branch"] = have.branch
		}
		if g.Submodules && have.modules == 0 {
			back["submodules"] = true
		}
		if g.Key != "" {
			back["key"] = g.Key
		}
	}
	if g.User != "" {
		back["user"] = g.User
	}
	return back, nil
}

// Watch implements [modules.Watcher]: another commit is heard of, a changed file is found now and then.
func (g *Git) Watch(context.Context, modules.Host) (modules.Sources, error) {
	from := modules.Sources{
		Paths:  []string{g.Name, path.Join(g.Name, ".git/HEAD"), path.Join(g.Name, ".git/config")},
		Polled: "the files of the checkout",
	}
	if !commitID().MatchString(g.Revision) && g.updates() && g.Ensure != absent {
		from.Polled += ", and the commit of the revision at the source"
	}
	if g.Signers != "" {
		from.Paths = append(from.Paths, g.Signers)
	}
	from.AddOwner(g.User, "")
	return from, nil
}

type state struct {
	Name    string   `json:"name"`
	Source  string   `json:"source,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	Branch  string   `json:"branch,omitempty"`
	Changed []string `json:"changed,omitempty"` // files
}

// Describe implements [modules.Describer].
func (g *Git) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "git"}
	have, err := g.find(ctx, h)
	if err != nil {
		return d, err
	}
	is := state{Name: g.Name, Commit: have.commit, Branch: have.branch, Changed: have.changed}
	if have.source != "" {
		is.Source = shown(have.source)
	}
	if have.is {
		d.Ensure = present
	}
	d.State = is
	return d, nil
}
