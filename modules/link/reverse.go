package link

import (
	"context"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (l *Link) Subject() string { return l.Name }

// Reversal implements [modules.Reverser].
func (l *Link) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	at, err := h.Files.Stat(l.Name)
	switch {
	case modules.NotThere(err):
		return map[string]any{"ensure": absent}, nil
	case err != nil:
		return nil, modules.PermissionRefusal(err)
	case at.Kind != modules.Symlink:
		return nil, modules.Refuse("%s is %s, which a link resource cannot bring back", l.Name, described(at))
	case !utf8.ValidString(at.Target):
		return nil, modules.Refuse("%s leads to a path that is not UTF-8", l.Name)
	}
	return map[string]any{"ensure": present, "target": at.Target}, nil
}
