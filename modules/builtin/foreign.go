//go:build full || !host

package builtin

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/alternatives"
	"github.com/ccm-push/ccm-push/modules/authorizedkey"
	"github.com/ccm-push/ccm-push/modules/container"
	"github.com/ccm-push/ccm-push/modules/debconf"
	"github.com/ccm-push/ccm-push/modules/dsc"
	"github.com/ccm-push/ccm-push/modules/fcontext"
	"github.com/ccm-push/ccm-push/modules/fetch"
	"github.com/ccm-push/ccm-push/modules/firewall"
	"github.com/ccm-push/ccm-push/modules/git"
	"github.com/ccm-push/ccm-push/modules/hostname"
	"github.com/ccm-push/ccm-push/modules/http"
	"github.com/ccm-push/ccm-push/modules/ini"
	"github.com/ccm-push/ccm-push/modules/kmod"
	"github.com/ccm-push/ccm-push/modules/knownhost"
	"github.com/ccm-push/ccm-push/modules/locale"
	"github.com/ccm-push/ccm-push/modules/mount"
	"github.com/ccm-push/ccm-push/modules/pkg"
	"github.com/ccm-push/ccm-push/modules/ral"
	"github.com/ccm-push/ccm-push/modules/reboot"
	"github.com/ccm-push/ccm-push/modules/replace"
	"github.com/ccm-push/ccm-push/modules/repository"
	"github.com/ccm-push/ccm-push/modules/seboolean"
	"github.com/ccm-push/ccm-push/modules/selinux"
	"github.com/ccm-push/ccm-push/modules/seport"
	"github.com/ccm-push/ccm-push/modules/sudoers"
	"github.com/ccm-push/ccm-push/modules/swap"
	"github.com/ccm-push/ccm-push/modules/sysctl"
	"github.com/ccm-push/ccm-push/modules/timezone"
	"github.com/ccm-push/ccm-push/modules/tlscert"
	"github.com/ccm-push/ccm-push/modules/tlskey"
	"github.com/ccm-push/ccm-push/modules/upgrade"
	"github.com/ccm-push/ccm-push/modules/wait"
)

// foreign are the types that the lean host program lacks, in the order of the documentation: first types that few
// fleets need, then types whose resources are programs of others. All of them always need the full program.
func foreign() modules.Registry {
	return modules.Registry{
		repository.Type(pkg.Repositories{}),
		upgrade.Type(upgrader),
		debconf.Type(),
		replace.Type(),
		ini.Type(),
		authorizedkey.Type(),
		knownhost.Type(),
		sysctl.Type(),
		mount.Type(),
		swap.Type(),
		hostname.Type(),
		timezone.Type(),
		locale.Type(),
		kmod.Type(),
		sudoers.Type(),
		alternatives.Type(),
		selinux.Type(),
		seboolean.Type(),
		fcontext.Type(),
		seport.Type(),
		firewall.Type(),
		reboot.Type(),
		tlskey.Type(),
		tlscert.Type(),
		fetch.Type(),
		wait.Type(),
		git.Type(),
		container.Type(),
		http.Type(),
		dsc.Type(),
		ral.Type(),
	}
}

// upgrader is the package manager of an upgrade.
func upgrader(u *upgrade.Upgrade) upgrade.Manager {
	return &pkg.Upgrader{
		Provider: u.Provider, Security: u.Name == upgrade.Security, Removals: u.Removals, CacheValid: u.CacheValid, LockTimeout: u.LockTimeout,
	}
}
