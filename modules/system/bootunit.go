package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Names of the unit by which a host reverts unconfirmed changes when it starts again. footprintScript in
// transport/start has these names, too.
const (
	bootUnit  = "/etc/systemd/system/ccm-push-confirm.service"
	bootWants = "/etc/systemd/system/multi-user.target.wants"
)

// A BootUnit starts this program when the host starts, before anything that a login needs.
type BootUnit struct{ Args []string }

// errNoBootUnit is why nothing would be taken back when the host starts again.
var errNoBootUnit = modules.Refuse(`"confirm_boot" needs root and a host on which systemd runs; remove "confirm_boot", or write confirm: never`)

// Install enables the unit. It counts from the next start of the host.
func (b BootUnit) Install() error {
	if os.Geteuid() != 0 || !runsSystemd() {
		return errNoBootUnit
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.ContainsAny(self, "%\\\"' \t\n$") {
		return modules.Refuse(`"confirm_boot" cannot start a program at %q`, self)
	}
	text := strings.NewReplacer("$SELF", self, "$ARGS", strings.Join(b.Args, " ")).Replace(bootUnitText)
	if err := os.MkdirAll(bootWants, 0o755); err != nil {
		return err
	}
	if err := writeAt(filepath.Dir(bootUnit), filepath.Base(bootUnit), text); err != nil {
		return err
	}
	link := filepath.Join(bootWants, filepath.Base(bootUnit))
	if err := os.Symlink(bootUnit, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(bootWants)
}

// Remove removes the unit, if it is there.
func (b BootUnit) Remove() error {
	if os.Geteuid() != 0 {
		return nil
	}
	var errs []error
	for _, name := range []string{filepath.Join(bootWants, filepath.Base(bootUnit)), bootUnit} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Before the network and the firewall, too, since they would read the changes that are about to be reverted. A shell
// starts the program, because SELinux does not let init start one below /root.
const bootUnitText = `# Made by ccm-push, and removed by it once its changes are confirmed or taken back.
[Unit]
Description=takes back changes that ccm-push made and nobody confirmed
DefaultDependencies=no
Conflicts=shutdown.target
Wants=network-pre.target
RequiresMountsFor=$SELF /var/lib/ccm-push
After=local-fs.target systemd-remount-fs.service
Before=network-pre.target ssh.service sshd.service ssh.socket sshd.socket shutdown.target
Before=networking.service systemd-networkd.service NetworkManager.service systemd-resolved.service
Before=nftables.service iptables.service firewalld.service ufw.service

[Service]
Type=oneshot
TimeoutStartSec=2min
ExecStart=/bin/sh -c 'exec $SELF $ARGS'

[Install]
WantedBy=multi-user.target
`

// writeAt writes a file that everybody may read as a whole.
func writeAt(dir, name, text string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	next := ".ccm-" + name
	if err := writeSynced(root, next, []byte(text)); err != nil {
		return err
	}
	if err := root.Chmod(next, 0o644); err != nil {
		return err
	}
	if err := root.Rename(next, name); err != nil {
		return err
	}
	return rooted.SyncDir(root)
}

func syncDir(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	return rooted.SyncDir(root)
}
