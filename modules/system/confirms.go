package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/modules/engine/confirm"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// NewConfirms gives the files of this user on this host, beside the journal, for changes that are to
// be confirmed.
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

// errLingers is why there can be no watchdog: systemd would end it together with the session.
var errKillsUserProcesses = errors.New("systemd ends what a user has left running as the last session ends (KillUserProcesses=yes in logind.conf), and with it what would take the change back; run as root (become), or have the user's processes stay: loginctl enable-linger")

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
	case systemd && killsUserProcesses():
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

// killsUserProcesses reports whether systemd-logind ends the processes of this user with the last
// session (logind.conf(5)).
func killsUserProcesses() bool {
	if u, err := user.Current(); err == nil {
		if _, err := os.Stat("/var/lib/systemd/linger/" + u.Username); err == nil {
			return false
		}
	}
	kills := false
	for _, dir := range []string{"/usr/lib", "/run", "/etc"} {
		files, _ := filepath.Glob(dir + "/systemd/logind.conf.d/*.conf") // the pattern is good
		if dir != "/run" {
			files = append([]string{dir + "/systemd/logind.conf"}, files...)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); strings.TrimSpace(key) == "KillUserProcesses" {
					switch strings.ToLower(strings.TrimSpace(value)) {
					case "yes", "true", "on", "1":
						kills = true
					default:
						kills = false
					}
				}
			}
		}
	}
	return kills
}
