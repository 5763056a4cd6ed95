package line

import (
	"cmp"
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser]: the line or block as a part of the file.
func (l *Line) Subject() string {
	part := cmp.Or(l.Regexp, l.Line, l.Name)
	if l.hasBlock() {
		part = l.block().Begin
	}
	return l.file() + "\n" + part
}

// Reversal implements [modules.Reverser].
func (l *Line) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var earlier *edit.Restore
	if k, ok := kept.(*Line); ok {
		earlier = k.Restore
	}
	return l.edited().Reversal(h, earlier)
}
