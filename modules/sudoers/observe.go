package sudoers

import (
	"context"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (s *Sudoers) Subject() string { return s.at() }

// Reversal implements [modules.Reverser]: the current file.
func (s *Sudoers) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var earlier modules.Resource
	if before, ok := kept.(*Sudoers); ok && before.Was != nil {
		earlier = before.Was
	}
	was, err := s.file().Reversal(ctx, h, earlier)
	if err != nil || was == nil {
		return nil, err
	}
	was["name"] = s.at()
	return map[string]any{"was": was, "path": s.Path}, nil
}

// Watch implements [modules.Watcher].
func (s *Sudoers) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	sources, err := s.file().Watch(ctx, h)
	sources.AddProgram("visudo")
	return sources, err
}

type state struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	Rules []string `json:"rules,omitempty"`
}

// Describe implements [modules.Describer].
func (s *Sudoers) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "sudo"}
	is := state{Name: s.Name, Path: s.at()}
	r, err := h.Files.Open(s.at())
	switch {
	case modules.NotThere(err):
	case err != nil:
		return d, modules.PermissionRefusal(err)
	default:
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, modules.MaxKept))
		if err != nil {
			return d, err
		}
		d.Ensure, is.Rules = present, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	d.State = is
	return d, nil
}
