package locale

import (
	"context"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser].
func (l *Locale) Subject() string { return "locale " + spelling(l.Name) }

// Reversal implements [modules.Reverser]: whether the locale existed, and the current files.
func (l *Locale) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	there, err := l.there(ctx, h)
	if err != nil {
		return nil, err
	}
	by, err := l.how(h)
	if err != nil {
		return nil, err
	}
	ensure := ensured(there)
	var earlier map[string]*edit.Restore
	if before, ok := kept.(*Locale); ok {
		ensure, earlier = before.Ensure, before.Restore
	}
	files, err := l.files(h.Files, by)
	if err != nil {
		return nil, err
	}
	restore, err := files.Reversal(h, earlier)
	if err != nil {
		return nil, err
	}
	for path, file := range earlier { // files of an earlier state of the manifest
		if restore[path] == nil {
			restore[path] = file
		}
	}
	return map[string]any{"ensure": ensure, "restore": restore}, nil
}

// Watch implements [modules.Watcher].
func (l *Locale) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	by, err := l.how(h)
	if err != nil {
		return modules.Sources{}, err
	}
	files, err := l.files(h.Files, by)
	if err != nil {
		return modules.Sources{}, err
	}
	sources := modules.Sources{Paths: append(files.Paths(), supported, archive)}
	sources.AddBelow(h.Files, archive)
	if by.debian && (l.Default || l.Restore != nil) {
		sources.Paths = append(sources.Paths, defaultFile) // it may be a link
	}
	for dir := range strings.SplitSeq(modules.DefaultPath, ":") {
		for _, program := range []string{"locale", "locale-gen", "dpkg"} {
			sources.Paths = append(sources.Paths, path.Join(dir, program))
		}
	}
	return sources, nil
}

// Describe implements [modules.Describer].
func (l *Locale) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	there, err := l.there(ctx, h)
	if err != nil {
		return modules.Description{}, err
	}
	by, err := l.how(h)
	if err != nil {
		return modules.Description{}, err
	}
	is := struct {
		Name    string `json:"name"`
		Default bool   `json:"default,omitempty"`
	}{Name: l.Name}
	asked := &Locale{Name: l.Name, Default: true}
	files, err := asked.files(h.Files, by)
	if err != nil {
		return modules.Description{}, err
	}
	text, _, err := files[len(files)-1].Read(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	done, err := asked.choose(edit.Parse(text))
	if err != nil {
		return modules.Description{}, err
	}
	is.Default = done.Action == ""
	return modules.Description{Ensure: ensured(there), Provider: "glibc", State: is}, nil
}
