package service

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// openrc is the [manager] of Alpine, Gentoo and others.
type openrc struct {
	describe bool // find out whether services can reload
}

// The folders of OpenRC.
const (
	initScripts = "/etc/init.d"
	runlevels   = "/etc/runlevels"      // a folder each, with links to the scripts
	options     = "/run/openrc/options" // notes of services about themselves, a folder each
)

// look implements [manager].
func (m openrc) look(ctx context.Context, h modules.Host, name string) (unit, error) {
	before, last, changed := predicted(h.Forecast, name)
	if changed && last {
		return before, nil
	}
	script := path.Join(initScripts, name)
	u := unit{id: name, names: []string{name}, file: script, files: []string{script}, state: "inactive", fileState: "disabled"}
	there, err := exists(h.Files, script)
	if err != nil {
		return unit{}, err
	}
	_, rewritten := h.Forecast.Lookup(modules.PathEffect, script)
	if !there || strings.HasPrefix(name, "-") {
		u.missing = true
		return u, nil
	}
	if u.levels, err = enabledIn(h.Files, name); err != nil {
		return unit{}, err
	}
	if len(u.levels) > 0 {
		u.fileState = "enabled"
	}
	if err := m.status(ctx, h, &u, rewritten); err != nil {
		return unit{}, err
	}
	if changed {
		return before, nil
	}
	return u, nil
}

// enabledIn lists the runlevels that start a service.
func enabledIn(files modules.FileReader, name string) ([]string, error) {
	all, err := files.List(runlevels)
	if err != nil && !modules.NotThere(err) {
		return nil, err
	}
	var levels []string
	for _, level := range all {
		_, err := files.Stat(path.Join(runlevels, level, name))
		switch {
		case err == nil:
			levels = append(levels, level)
		case !modules.NotThere(err):
			return nil, err
		}
	}
	return levels, nil
}

// status queries the state of the service. A script that does not exist yet cannot be queried.
func (m openrc) status(ctx context.Context, h modules.Host, u *unit, rewritten bool) error {
	exit, err := query(ctx, h, !rewritten, rcService(u.id, "status")...)
	if err != nil {
		return err
	}
	state, known := stateOf(exit.Code)
	switch {
	case known:
		u.state = state
	case !rewritten:
		return fmt.Errorf("rc-service %s status: %s", u.id, complaint(exit))
	}
	if u.state == "active" && died(h.Files, u.id) {
		u.state = crashed
	}
	if !m.describe {
		return nil
	}
	exit, err = query(ctx, h, !rewritten, rcService(u.id, "describe")...)
	u.canReload = err == nil && canReload(exit.Stdout.Text+exit.Stderr.Text)
	return err
}

func rcService(name, command string) []string { return []string{"rc-service", "--", name, command} }

// crashed is a service whose process is gone. OpenRC takes it for started until zap resets it.
const crashed = "crashed"

// stateOf reads the exit code of a status (openrc-run(8)) in the words of systemd.
func stateOf(code int) (state string, known bool) {
	switch code {
	case 0:
		return "active", true
	case 3:
		return "inactive", true
	case 4:
		return "deactivating", true
	case 8, 16: // 16: it waits for something, and starts then
		return "activating", true
	case 32:
		return crashed, true
	}
	return "", false
}

// canReload looks for reload among the commands that a service describes.
func canReload(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " *"), "reload:") {
			return true
		}
	}
	return false
}

// died reports whether the process of a service, whose number is in a file, is gone. OpenRC notices that only if it has
// started the process with a program of its own, which Debian's package does not contain.
func died(files modules.FileReader, name string) bool {
	file := strings.TrimSpace(head(files, path.Join(options, name, "pidfile")))
	if !path.IsAbs(file) || strings.ContainsRune(file, 0) {
		return false
	}
	pid := number(strings.TrimSpace(head(files, path.Clean(file))))
	if pid == 0 {
		return false
	}
	_, err := files.Stat(fmt.Sprintf("/proc/%d", pid))
	return modules.NotThere(err)
}

// maxRecord is as much as is read of a file of OpenRC, in bytes.
const maxRecord = 4 << 10

// head is the beginning of a file, or nothing.
func head(files modules.FileReader, name string) string {
	f, err := files.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return ""
	}
	return string(text)
}

// command implements [manager].
func (openrc) command(u unit, v verb) []string {
	switch v {
	case enable:
		return []string{"rc-update", "add", u.id, "default"}
	case disable:
		return slices.Concat([]string{"rc-update", "del", u.id}, u.levels)
	}
	return rcService(u.id, string(v))
}

// refused implements [manager].
func (openrc) refused(h modules.Host, u unit, verbs []verb) error {
	switch {
	case !isRoot(h):
		return errNotRoot
	case slices.ContainsFunc(verbs, changesLinks):
		return h.Files.MayReplace(path.Join(runlevels, "default", u.id))
	}
	return nil
}

// uncertain implements [manager].
func (openrc) uncertain(modules.Host) bool { return false }

// log implements [manager]: services of OpenRC log wherever they like to.
func (openrc) log(context.Context, modules.Host, unit, time.Time) []string { return nil }
