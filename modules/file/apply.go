package file

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// Apply implements [modules.Resource].
func (f *File) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	s, _ := p.Steps.(steps)
	switch s.do {
	case remove, removeTree:
		return h.Files.Remove(ctx, f.Name, s.do == removeTree)
	case replaceLink:
		return modules.OrPutBack(ctx, h, []string{f.Name}, func() error {
			if err := h.Files.Remove(ctx, f.Name, false); err != nil {
				return err
			}
			// Once the link is gone, the directory is made even if the run ends.
			return h.Files.MakeDir(context.WithoutCancel(ctx), f.Name, s.want)
		})
	case makeDirectory:
		return h.Files.MakeDir(ctx, f.Name, s.want)
	case setBelow:
		return f.applyBelow(ctx, h, s)
	case setAttributes:
		return h.Files.SetAttributes(ctx, f.Name, s.want)
	case write:
		return f.writeContent(ctx, h, p, s.want)
	}
	return errors.New("the plan is not one of a file")
}

func (f *File) writeContent(ctx context.Context, h modules.Host, p modules.Plan, want modules.Attributes) error {
	content, err := f.open(ctx, h, p)
	if err != nil {
		return err
	}
	defer content.Close()
	return h.Files.WriteIf(ctx, f.Name, content, want, func(temp string) error {
		if err := approval.Ask(ctx, h, f.Validation, temp, f.Name); err != nil {
			return err
		}
		return f.keepOld(ctx, h)
	})
}
