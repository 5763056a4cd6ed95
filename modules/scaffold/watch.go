package scaffold

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (s *Scaffold) Watch(_ context.Context, h modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{s.Name}
	if s.Purge || s.Ensure == absent { // entries that prevent the removal of a directory
		from.AddBelow(h.Files, s.Name)
		from.Mounts = true
	}
	if s.Tree != nil {
		for i := range s.Tree.Nodes {
			from.Paths = append(from.Paths, path.Join(s.Name, s.Tree.Nodes[i].Path))
		}
	}
	if len(s.Post) > 0 {
		if dir, err := s.notes(h); err == nil {
			from.Paths = append(from.Paths, path.Join(dir, recordFile))
		}
	}
	from.AddOwner(s.Owner, s.Group)
	return from, nil
}
