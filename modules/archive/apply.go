package archive

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Apply implements [modules.Resource].
func (a *Archive) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	s, ok := p.Steps.(*steps)
	if !ok {
		return errors.New("the plan is not one of an archive")
	}
	if s.remove {
		return h.Files.Remove(ctx, a.Name, false)
	}
	if s.obtain == fromServer && a.Content.IsZero() && a.tools.fetch == nil || s.extract && a.tools.extract == nil {
		return errLean
	}
	if s.obtain != nowhere {
		if err := a.obtainAndUse(ctx, h, s); err != nil {
			return err
		}
	}
	if s.attributes {
		if err := h.Files.SetAttributes(ctx, a.Name, s.want); err != nil {
			return err
		}
	}
	if s.cleanup {
		return h.Files.Remove(ctx, a.Name, false)
	}
	return nil
}

// obtainAndUse obtains the archive in a file that no other user can change, from its first byte to the last unpacked
// entry.
func (a *Archive) obtainAndUse(ctx context.Context, h modules.Host, s *steps) (err error) {
	dir, err := h.Files.OpenDirectory(path.Dir(a.Name))
	if err != nil {
		return err
	}
	defer dir.Close()
	own := &stagingFile{dir: dir, name: path.Base(a.Name)}
	defer func() { err = errors.Join(err, own.discard()) }()
	switch {
	case s.obtain == fromHost:
		err = a.copyOwn(ctx, h, own)
	case !a.Content.IsZero():
		err = a.receive(ctx, h, own)
	default:
		err = a.tools.fetch(ctx, a, h, own)
	}
	if err != nil {
		return err
	}
	if s.extract {
		if err := a.tools.extract(ctx, a, h, own); err != nil {
			return fmt.Errorf("extraction failed: %w", err)
		}
	}
	if !s.place {
		return nil
	}
	return own.place(ctx, s.want)
}

var errLean = errors.New("the lean host program cannot download or unpack: use the full host program (a ccm-module built with -tags full)")
