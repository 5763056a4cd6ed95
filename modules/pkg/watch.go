package pkg

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (p *Package) Watch(_ context.Context, h modules.Host) (from modules.Sources, err error) {
	m, err := p.manager(h)
	if err != nil && p.ofLanguage() {
		return modules.Sources{Polled: p.Provider + " is not there"}, nil
	}
	if err != nil {
		for _, t := range tools {
			from.AddProgram(t.program)
		}
		return from, nil // Check reports the error
	}
	from = m.changes()
	if p.Path != "" {
		from.Paths = append(from.Paths, p.Path)
	}
	if p.Hold != nil {
		from.Paths = append(from.Paths, m.holds()...)
	}
	if p.offered {
		from.Polled = "the packages in its repositories"
	}
	return from, nil
}

// told returns the sources of changes: paths, and the manager's program when it is installed or removed.
func (a *access) told(paths ...string) (from modules.Sources) {
	from.Paths = paths
	from.AddProgram(a.program)
	return from
}
