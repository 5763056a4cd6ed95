package pkg

import (
	"cmp"
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// description has the fields with which CCM's package type describes a package.
type description struct {
	Name     string `json:"name"`
	Version  string `json:"version"` // "absent" if it is
	Arch     string `json:"arch,omitempty"`
	Provider string `json:"provider"`
}

// Describe implements [modules.Describer].
func (p *Package) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	m, err := p.manager(h)
	if err != nil {
		return modules.Description{}, err
	}
	have, err := m.installed(ctx, p.Name)
	if err != nil {
		return modules.Description{}, err
	}
	d := description{Name: p.Name, Version: absent, Provider: p.Provider}
	var a *access
	var query []string
	switch m := m.(type) {
	case apt:
		d.Provider, a, query = "apt", m.access, []string{"dpkg-query", "-W", "-f", `${Architecture}\n`, p.Name}
	case dnf:
		d.Provider, a, query = "dnf", m.access, []string{"rpm", "-q", "--qf", `%{ARCH}\n`, p.Name}
	case zypper:
		d.Provider, a, query = "zypper", m.access, []string{"rpm", "-q", "--qf", `%{ARCH}\n`, p.Name}
	case apk:
		d.Provider = "apk"
	case pacman:
		d.Provider = "pacman"
	}
	if have.Installed {
		d.Version = have.Version
	}
	if have.Installed && query != nil { // the others are of one architecture
		if _, err := a.query(ctx, Effect, func(line string) { d.Arch = cmp.Or(d.Arch, strings.TrimSpace(line)) }, query...); err != nil {
			return modules.Description{}, err
		}
	}
	return modules.Description{Ensure: d.Version, Provider: d.Provider, State: d}, nil
}

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
