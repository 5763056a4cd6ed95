package service

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher]: systemd sends events about the state of units, but not about files that it has
// not read yet. It checks whether a unit is enabled when a tool enables units or reloads systemd, and then sends an
// event.
func (s *Service) Watch(_ context.Context, h modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{"/run/systemd/system"}
	if m, err := s.manager(h); m != (systemd{}) || err != nil {
		from.Polled = "only systemd sends events about services"
		return from, nil
	}
	name := unitName(s.Name)
	from.Units = []string{name}
	for _, id := range append([]string{name}, s.seen.names...) {
		from.Paths = append(from.Paths, sources(id)...)
		for _, file := range fileNames(id) {
			for _, dir := range modules.UnitFolders {
				from.Trees = append(from.Trees, path.Join(dir, file+".d"))
			}
		}
	}
	from.Paths = append(from.Paths, s.seen.files...)
	if s.Enable != nil && s.seen.sysV {
		from.Polled = "the links of a script of System V"
	}
	return from, nil
}
