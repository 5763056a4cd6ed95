package scaffold

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// Apply implements [modules.Resource]. It replaces each file as a whole. A run that ends early leaves some files new
// and some old, and no useless new directories.
func (s *Scaffold) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	steps, ok := p.Steps.([]step)
	if !ok {
		return errors.New("the plan is not one of a scaffold")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a := &applying{Scaffold: s, h: h, files: h.Files.Within(s.Name)}
	err := a.steps(ctx, steps)
	if err != nil {
		a.undo(context.WithoutCancel(ctx))
	}
	return err
}

// applying is an Apply under way.
type applying struct {
	*Scaffold
	h     modules.Host
	files modules.FileWriter // below the target
	shop  *workshop          // nil as long as no command has run
	dirs  []string           // new directories
}

func (a *applying) steps(ctx context.Context, steps []step) error {
	for now := makeDirectory; now <= remove; now++ {
		for i := range steps {
			if steps[i].do != now {
				continue
			}
			if err := a.step(ctx, &steps[i]); err != nil {
				if a.shop != nil {
					// The copies may be secret. The other error is more important.
					_ = a.shop.clear(context.WithoutCancel(ctx))
				}
				return err
			}
		}
	}
	switch {
	case a.shop != nil:
		return errors.Join(a.shop.keep(ctx), a.shop.clear(ctx))
	case a.Ensure == absent:
		return a.forget(ctx)
	}
	return nil
}

func (a *applying) step(ctx context.Context, s *step) error {
	switch s.do {
	case makeDirectory:
		return a.makeDir(ctx, s)
	case write:
		return a.write(ctx, s)
	case link:
		return a.files.Symlink(ctx, s.name, s.node.Target)
	case setAttributes:
		return a.files.SetAttributes(ctx, s.name, s.want)
	}
	files := a.files
	if s.name == a.Name { // is not below itself
		files = a.h.Files
	}
	return files.Remove(ctx, s.name, false)
}

func (a *applying) makeDir(ctx context.Context, s *step) error {
	files := a.files
	if s.node == nil { // the target, with its parents
		files = a.h.Files
		for dir := s.name; dir != "/"; dir = path.Dir(dir) {
			if _, err := a.h.Files.Stat(dir); !modules.NotThere(err) {
				break
			}
			a.dirs = slices.Insert(a.dirs, 0, dir)
		}
	} else {
		a.dirs = append(a.dirs, s.name)
	}
	return files.MakeDir(ctx, s.name, s.want)
}

func (a *applying) write(ctx context.Context, s *step) error {
	content, err := a.h.Contents.Open(ctx, s.node.Content)
	if err != nil {
		return err
	}
	defer content.Close()
	var text io.Reader = content
	if len(s.post) > 0 {
		if a.shop == nil {
			if a.shop, err = a.open(ctx, a.h); err != nil {
				return err
			}
		}
		made, err := a.shop.work(ctx, s, content)
		if err != nil {
			return err
		}
		defer made.Close()
		text = made
	}
	return a.files.Write(ctx, s.name, text, s.want)
}

// forget removes the notes about files that are gone.
func (a *applying) forget(ctx context.Context) error {
	dir, err := a.notes(a.h)
	if err != nil {
		return nil // there can be none
	}
	if _, err := a.h.Files.Stat(dir); modules.NotThere(err) {
		return nil
	}
	return a.h.Files.Remove(ctx, dir, true)
}

// undo removes the new directories that are empty.
func (a *applying) undo(ctx context.Context) {
	for _, dir := range slices.Backward(a.dirs) {
		if names, err := a.h.Files.List(dir); err != nil || len(names) > 0 {
			continue
		}
		files := a.files
		if len(dir) <= len(a.Name) { // the target or above it
			files = a.h.Files
		}
		if files.Remove(ctx, dir, false) != nil {
			return
		}
	}
}
