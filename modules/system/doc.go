// Package system is the real [modules.Host]: files, accounts and commands of
// the machine that the program runs on, and the lock that keeps two applying
// runs apart. It is linked into the host program only.
package system

import (
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// New returns the machine's files, accounts and commands. The caller sets Contents, Report and Forecast.
func New() modules.Host { return newHost(nil) }

func newHost(f *commandLog) modules.Host {
	c := &commands{log: f}
	a := &accounts{getent: c.getent, idGroups: c.idGroups}
	c.accounts = a
	onDisk := &files{digests: digests{now: time.Now}, changed: a.forget, sweptDirs: new(sweptDirs)}
	return modules.Host{
		Files:    modules.Files{FileReader: onDisk, FileRights: rights{new(mountinfo.Live)}, FileWriter: onDisk, DirectoryOpener: onDisk, Xattrs: xattrs, Room: room},
		Accounts: a,
		Commands: c,
		Mounts:   newMounts(),
		Private:  privateDir(),
		Stage:    Stage(programDir()),
	}
}
