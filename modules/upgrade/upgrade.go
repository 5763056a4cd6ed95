package upgrade

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// An Upgrade brings the installed packages of a package manager up to date. The package manager's own simulation
// decides which changes are planned.
type Upgrade struct {
	Name        string `json:"name" required:"true" enum:"all,security" doc:"which packages; all: every package with a newer version; security: packages with a security update, each to the lowest version that contains it (apt, dnf and zypper only: pacman and apk do not mark security updates)"`
	Removals    bool   `json:"removals,omitempty" doc:"true: packages may be removed if an update needs it (apt-get dist-upgrade) or replaces them (obsoletes of dnf); default: nothing is removed, and an update that needs it is skipped or fails"`
	Provider    string `json:"provider,omitempty" enum:"apt,dnf,zypper,apk,pacman" doc:"package manager; default: the first in this order that the host has"`
	CacheValid  string `json:"cache_valid,omitempty" pattern:"^[0-9]+[smhd]$" doc:"how old the lists of available packages may be, such as 1h; older ones are fetched first; default: apt, apk and pacman never fetch them, dnf and zypper as they are configured"`
	LockTimeout string `json:"lock_timeout,omitempty" pattern:"^[0-9]+[smhd]$" default:"2m" doc:"how long to wait while another process uses the package manager"`

	by func(*Upgrade) Manager
	// manager remembers the actions of this resource in this run.
	manager Manager
}

// A Manager is the package manager of a host, as far as upgrades concern it.
type Manager interface {
	// Plan returns the changes that an upgrade would make; the zero Plan means none. Its effects have the versions of
	// packages and [modules.Anything]: the other changes of new versions cannot be predicted.
	Plan(ctx context.Context, h modules.Host) (modules.Plan, error)
	// Apply carries that out.
	Apply(ctx context.Context, h modules.Host, p modules.Plan) error
	// Sources returns the sources where a change of the packages can be noticed first.
	Sources(h modules.Host) modules.Sources
	// Manager names it.
	Manager(h modules.Host) (string, error)
}

// Names of upgrades.
const (
	All      = "all"
	Security = "security"
)

// Type is the entry of the registry. by returns the package manager for the properties.
func Type(by func(*Upgrade) Manager) modules.Type {
	return modules.Type{
		Name: "upgrade",
		Doc: "Upgrades packages: all of them, or only security updates. The plan lists each package that changes, with both " +
			"versions; held packages stay, and nothing is removed unless removals is true.",
		New: func() modules.Resource { return &Upgrade{by: by} },
	}
}

// Requires implements [modules.Requirer].
func (u *Upgrade) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (u *Upgrade) Validate() error { return nil }
