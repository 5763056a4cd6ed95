package service

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// systemd is the [manager] of most hosts.
type systemd struct{}

func systemctl(args ...string) []string {
	return append([]string{"systemctl", "--system", "--no-pager", "--no-ask-password"}, args...)
}

// look implements [manager].
func (m systemd) look(ctx context.Context, h modules.Host, name string) (unit, error) {
	name = unitName(name)
	before, last, changed := predicted(h.Forecast, name)
	if before.brought {
		var err error
		if before, err = sinceBrought(h, before); err != nil {
			return unit{}, err
		}
	}
	if changed && last {
		return before, nil
	}
	u, err := m.show(ctx, h, name)
	if err != nil {
		return unit{}, err
	}
	if changed {
		return before, nil
	}
	if changes, removed := pending(h, u); changes { // systemd answers for the files as they are
		if h.Forecast.Lookup(modules.ProbeEffect, ""); removed {
			h.Forecast.Lookup(modules.LiveEffect, modules.NotYet)
		}
		u.stale = !u.missing
	}
	missing := u.missing
	if u, err = compareWithDisk(h.Files, u); err != nil {
		return u, err
	}
	if u.stale && willRead(h, u) {
		u.stale = false
	}
	if !missing || u.missing {
		return u, nil
	}
	// systemd itself reads a new unit file that an earlier resource will write, except a generated one.
	if _, ok := h.Forecast.Lookup(modules.PathEffect, u.file); ok && u.fileState != "generated" {
		u.stale = false
	}
	return u, nil
}

// show queries systemd about one unit.
func (m systemd) show(ctx context.Context, h modules.Host, name string) (unit, error) {
	u, known := recall(h, name)
	if !known {
		exit, err := query(ctx, h, true, systemctl("show", "--property="+properties, "--", name)...)
		switch {
		case err != nil:
			return unit{}, err
		case exit.Code != 0:
			return unit{}, fmt.Errorf("systemctl show %s: %s", name, complaint(exit))
		case exit.Stdout.Dropped > 0:
			return unit{}, fmt.Errorf("systemctl show %s: it printed more than %d bytes", name, modules.MaxOutput)
		}
		u = parseShow(name, exit.Stdout.Text)
	}
	if !u.sysV {
		return m.indirect(ctx, h, u)
	}
	// A script of System V counts as generated, whether it is enabled or not.
	exit, err := query(ctx, h, true, systemctl("is-enabled", "--", u.id)...)
	if err != nil {
		return unit{}, err
	}
	u.fileState = "disabled"
	if exit.Code == 0 {
		u.fileState = "enabled"
	}
	return u, nil
}

// command implements [manager].
func (systemd) command(u unit, v verb) []string {
	switch {
	case v == reread:
		return systemctl(string(v))
	case v == unmask && u.fileState == "masked-runtime", v == disable && u.fileState == "enabled-runtime":
		return systemctl("--runtime", string(v), "--", u.id)
	}
	return systemctl(string(v), "--", u.id)
}

// polkit exists on hosts where users other than root may have the right to manage units.
const polkit = "/usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service"

// refused implements [manager].
func (systemd) refused(h modules.Host, u unit, verbs []verb) error {
	switch {
	case isRoot(h) && slices.ContainsFunc(verbs, changesLinks):
		return h.Files.MayReplace(path.Join(modules.UnitFolders[0], u.id))
	case isRoot(h):
		return nil
	}
	if there, err := exists(h.Files, polkit); there || err != nil {
		return err
	}
	return errNotRoot
}

// uncertain implements [manager]: only polkit knows its rules.
func (systemd) uncertain(h modules.Host) bool { return !isRoot(h) }

var errNotRoot = modules.Refuse(`only root may change services here; use "become"`)

// isRoot reports whether the process may give files to root, as only root can.
func isRoot(h modules.Host) bool {
	return h.Files.MayCreate(modules.Attributes{UID: 0, GID: -1, KeepMode: true}) == nil
}

// logLines is how many lines of a log are shown.
const logLines = 10

// log implements [manager].
func (systemd) log(ctx context.Context, h modules.Host, u unit, since time.Time) []string {
	argv := []string{"journalctl", "--no-pager", "-u", u.id, "-n", fmt.Sprint(logLines), "-o", "cat"}
	if !since.IsZero() {
		argv = append(argv, fmt.Sprintf("--since=@%d.%06d", since.Unix(), since.Nanosecond()/1000))
	}
	exit, err := query(ctx, h, false, argv...)
	if err != nil || exit.Code != 0 {
		return nil
	}
	var lines []string
	for line := range strings.Lines(exit.Stdout.Text) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "-- No entries") {
			lines = append(lines, clip(line))
		}
	}
	return lines[max(0, len(lines)-logLines):]
}
