package line

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// Apply implements [modules.Resource].
func (l *Line) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	s, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a line")
	}
	if err := l.unchanged(h.Files, s.seen); err != nil {
		return err
	}
	content, err := h.Contents.Open(ctx, p.Needs[0])
	if err != nil {
		return err
	}
	defer content.Close()
	return h.Files.WriteIf(ctx, l.file(), content, s.want, func(temp string) error {
		return approval.Ask(ctx, h, l.Validation, temp, l.file())
	})
}

// unchanged makes sure that nobody's work is lost who has written the file since
// Check has read it.
func (l *Line) unchanged(files modules.FileReader, seen string) error {
	digest, err := files.Digest(l.file())
	if err != nil && !modules.NotThere(err) {
		return err
	}
	if digest != seen {
		return modules.Refuse("%s has just been changed by somebody else; run again", l.file())
	}
	return nil
}
