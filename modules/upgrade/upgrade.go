package upgrade

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// An Upgrade brings what a package manager has installed up to date. What would change is what the package
// manager's own simulation says.
type Upgrade struct {
	Name        string `json:"name" required:"true" enum:"all,security" doc:"which packages: all that have a newer version; security: those that have a security update, each to the lowest version with it that the package manager offers (apt, dnf and zypper: pacman and apk do not tell them from others)"`
	Removals    bool   `json:"removals,omitempty" doc:"true: packages may be removed where others cannot be brought up to date otherwise (apt-get dist-upgrade), or take their places (obsoletes of dnf); default: nothing is removed, and what needs that stays as it is, or is an error"`
	Provider    string `json:"provider,omitempty" enum:"apt,dnf,zypper,apk,pacman" doc:"package manager; default: the one that the host has, in this order"`
	CacheValid  string `json:"cache_valid,omitempty" pattern:"^[0-9]+[smhd]$" doc:"how old the lists of available packages may be, such as 1h; older ones are fetched first; default: apt, apk and pacman never fetch them, dnf and zypper as they are configured"`
	LockTimeout string `json:"lock_timeout,omitempty" pattern:"^[0-9]+[smhd]$" default:"2m" doc:"how long to wait while another process uses the package manager"`

	by func(*Upgrade) Manager
	// manager knows what this resource has done in this run.
	manager Manager
}

// A Manager is the package manager of a host, as far as upgrades concern it.
type Manager interface {
	// Plan says what an upgrade would do; the zero Plan is nothing. With the versions of packages its effects
	// have [modules.Anything]: what new versions bring along is not known beforehand.
	Plan(ctx context.Context, h modules.Host) (modules.Plan, error)
	// Apply carries that out.
	Apply(ctx context.Context, h modules.Host, p modules.Plan) error
	// Sources are where a change of the packages may first be noticed.
	Sources(h modules.Host) modules.Sources
	// Manager names it.
	Manager(h modules.Host) (string, error)
}

// Names of upgrades.
const (
	All      = "all"
	Security = "security"
)

// Type is the entry of the registry. by gives the package manager that the properties ask for.
func Type(by func(*Upgrade) Manager) modules.Type {
	return modules.Type{
		Name: "upgrade",
		Doc: "Brings packages up to date: all of them, or those that have security updates. What changes is named beforehand, with both " +
			"versions; packages that are held stay, and nothing is removed unless that is allowed.",
		New: func() modules.Resource { return &Upgrade{by: by} },
	}
}

// Requires implements [modules.Requirer].
func (u *Upgrade) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (u *Upgrade) Validate() error { return nil }
