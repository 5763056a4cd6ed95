package system

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/modules/engine/confirm"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// NewConfirms returns this user's files for unconfirmed changes on this host, next to the journal.
func NewConfirms(userDir string) (*confirm.Files, error) {
	j, err := newJournal(userDir, "", 0)
	if err != nil {
		return nil, err
	}
	return &confirm.Files{
		Open: func(create bool) (*os.Root, error) {
			if create {
				if err := j.makeDir(); err != nil {
					return nil, err
				}
			}
			return j.open()
		},
		Prefix:  j.name,
		SyncDir: rooted.SyncDir,
	}, nil
}

// A Watchdog is this program, started so that it outlives the session that starts it.
type Watchdog struct{ Args []string }

// errKillsUserProcesses is why there can be no watchdog: systemd would end it together with the session.
var errKillsUserProcesses = errors.New("after the last logout of a user, systemd stops all processes of the user (KillUserProcesses=yes in logind.conf), also the watchdog that reverts the change; run as root (become), or run loginctl enable-linger")

// Start starts the watchdog: for root where systemd runs as a unit of its own, since a session's
// processes end with it; else in a session of its own whose parent has ended. It has not begun its
// work when Start returns.
func (w Watchdog) Start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	systemd := runsSystemd()
	switch {
	case systemd && os.Geteuid() == 0:
		// Through a shell: SELinux keeps init from starting a program below /root.
		argv := append([]string{"--collect", "--quiet", "--no-block", "--description=takes back changes that ccm-push makes, unless they are confirmed",
			"/bin/sh", "-c", `exec "$0" "$@"`, self}, w.Args...)
		return quietly(exec.Command("systemd-run", argv...))
	case systemd && killsUserProcesses("", userName()):
		return errKillsUserProcesses
	}
	p := exec.Command("/bin/sh", append([]string{"-c", `"$0" "$@" </dev/null >/dev/null 2>&1 &`, self}, w.Args...)...)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return quietly(p)
}

// quietly runs a program to its end.
func quietly(p *exec.Cmd) error {
	p.Dir = "/"
	p.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", "LC_ALL=C"}
	if home := os.Getenv("HOME"); home != "" {
		p.Env = append(p.Env, "HOME="+home)
	}
	text, err := p.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %.500s", p.Args[0], err, strings.TrimSpace(string(text)))
	}
	return nil
}

// runsSystemd is sd_booted(3).
func runsSystemd() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// killsUserProcesses reports whether systemd-logind ends the processes of a user with the last
// session (logind.conf(5)). root is the directory that the host's files are in.
func killsUserProcesses(root, name string) bool {
	if _, err := os.Stat(root + "/var/lib/systemd/linger/" + name); err == nil {
		return false
	}
	dirs := []string{root + "/etc/systemd", root + "/run/systemd", root + "/usr/local/lib/systemd", root + "/usr/lib/systemd"}
	kills, main := false, false
	dropIns := map[string]string{} // files by name: a file of an earlier directory hides files of later ones
	for _, dir := range dirs {
		if text, err := os.ReadFile(dir + "/logind.conf"); err == nil && !main {
			main, kills = true, saysKill(text, kills)
		}
		found, _ := filepath.Glob(dir + "/logind.conf.d/*.conf") // the pattern is good
		for _, file := range found {
			if base := filepath.Base(file); dropIns[base] == "" {
				dropIns[base] = file
			}
		}
	}
	for _, base := range slices.Sorted(maps.Keys(dropIns)) {
		text, _ := os.ReadFile(dropIns[base]) // an unreadable file counts as empty
		kills = saysKill(text, kills)
	}
	return kills
}

// saysKill returns the value of KillUserProcesses in a file, or before if the file does not set it.
func saysKill(text []byte, before bool) bool {
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == "KillUserProcesses" {
			before = slices.Contains([]string{"yes", "true", "on", "1", "y", "t"}, strings.ToLower(strings.TrimSpace(value)))
		}
	}
	return before
}

// userName returns the user of this process; "" if it has no name.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
