package file

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// Apply implements [modules.Resource].
func (f *File) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	if p.Steps == remove || p.Steps == removeTree {
		return h.Files.Remove(ctx, f.Name, p.Steps == removeTree)
	}
	want, err := f.attributes(ctx, h.Accounts)
	if err != nil {
		return err
	}
	switch p.Steps {
	case replaceLink:
		if err := h.Files.Remove(ctx, f.Name, false); err != nil {
			return err
		}
		// Once the link is gone, a run that ends leaves the directory.
		return h.Files.MakeDir(context.WithoutCancel(ctx), f.Name, want)
	case makeDirectory:
		return h.Files.MakeDir(ctx, f.Name, want)
	case setAttributes:
		return h.Files.SetAttributes(ctx, f.Name, want)
	case write:
		return f.writeContent(ctx, h, p, want)
	}
	return errors.New("the plan is not one of a file")
}

func (f *File) writeContent(ctx context.Context, h modules.Host, p modules.Plan, want modules.Attributes) error {
	content, err := h.Contents.Open(ctx, p.Needs[0])
	if err != nil {
		return err
	}
	defer content.Close()
	return h.Files.Write(ctx, f.Name, content, want)
}
