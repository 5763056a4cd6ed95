package service

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher]: systemd tells how a unit is, and not of files that it has not
// read yet. Whether it is enabled it looks up when it is told to, or to read all anew, and tells then.
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
