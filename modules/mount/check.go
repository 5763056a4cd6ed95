package mount

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// timeout is how long mount and umount may take; a server may be far away.
const timeout = 2 * time.Minute

// steps is what Apply has to do.
type steps struct {
	write   bool
	file    any      // the steps of the edit
	makeDir bool     // the path is not there
	argv    []string // of mount or umount; nil is nothing
}

// dirMode is that of a directory that is made to mount at.
const dirMode fs.FileMode = 0o755

// Check implements [modules.Resource].
func (m *Mount) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	var plan modules.Plan
	if m.Ensure != unmounted || m.Restore != nil {
		var err error
		if plan, err = m.edited().Check(ctx, h); err != nil {
			return modules.Plan{}, err
		}
	}
	do := steps{write: plan.Pending(), file: plan.Steps}
	var actions []string
	if do.write {
		actions = append(actions, "edited fstab")
	}
	is, err := m.now(h)
	if err != nil {
		return modules.Plan{}, err
	}
	change := func(property, have, want string) {
		plan.Changes = append(plan.Changes, modules.Change{Property: property, Have: have, Want: want})
	}
	will := func(state live) {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: mountEffect, Key: m.Name, State: state})
		if !m.empty(h.Files) {
			plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: m.Name})
		}
	}
	lacks := m.lacks(is)
	switch {
	case m.Ensure == mounted && !is.there:
		if do.makeDir, err = m.missing(h); err != nil {
			return modules.Plan{}, err
		}
		if do.makeDir {
			plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: m.Name, State: modules.PathState{
				FileInfo: modules.FileInfo{Kind: modules.Directory, Mode: dirMode}, Partial: true,
			}})
		}
		do.argv = []string{"mount", "-t", m.Fstype, "-o", m.given(), m.Device, m.Name}
		actions = append(actions, "mounted it")
		change("mounted", unmounted, m.Device)
		will(live{true, m.Device, m.Fstype, m.Options})
		plan.MayFail = m.Fstype != "tmpfs" // which needs no device
	case m.Ensure == mounted && m.other(h.Files, is):
		return modules.Plan{}, modules.Refuse("%s of type %s is mounted at %s; unmount it first (ensure: unmounted)", is.device, is.fstype, m.Name)
	case m.Ensure == mounted && len(lacks) > 0:
		do.argv = []string{"mount", "-o", "remount," + m.given(), m.Name}
		actions = append(actions, "remounted it")
		change("options", strings.Join(is.options, ","), "with "+strings.Join(lacks, ","))
		will(live{true, is.device, is.fstype, append(m.Options, is.options...)})
		plan.MayFail = true
	case (m.Ensure == unmounted || m.Ensure == absent) && is.there:
		do.argv = []string{"umount", m.Name}
		actions = append(actions, "unmounted it")
		change("mounted", is.device, unmounted)
		will(live{})
		plan.MayFail = true // somebody may be at work in it
	}
	if len(actions) == 0 {
		return modules.Plan{}, nil
	}
	if do.argv != nil && os.Geteuid() != 0 {
		return modules.Plan{}, modules.Refuse("only root may mount and unmount; use become")
	}
	plan.Action, plan.Steps = strings.Join(actions, " and "), do
	return plan, nil
}

// empty reports whether nothing is below the path before and after: a new file system in memory.
func (m *Mount) empty(files modules.FileReader) bool {
	names, err := files.List(m.Name)
	return m.Ensure == mounted && m.Fstype == "tmpfs" && len(names) == 0 && (err == nil || modules.NotThere(err))
}

// missing reports whether the directory to mount at has to be made.
func (m *Mount) missing(h modules.Host) (bool, error) {
	at, err := modules.Follow(h.Files, m.Name)
	switch {
	case modules.NotThere(err):
		return true, modules.InDirectory(h.Files, m.Name)
	case err != nil:
		return false, modules.PermissionRefusal(err)
	case at.Kind != modules.Directory && !m.bind():
		return false, modules.Refuse("%s is not a directory, so nothing can be mounted there", m.Name)
	}
	return false, nil
}

// Apply implements [modules.Resource]. A file system that goes is unmounted before its line does, so
// that what fails leaves all as it was.
func (m *Mount) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a mount")
	}
	first := len(do.argv) > 0 && do.argv[0] == "umount"
	if first {
		if err := m.run(ctx, h, do.argv); err != nil {
			return err
		}
	}
	if do.write {
		p.Steps = do.file
		if err := m.edited().Apply(ctx, h, p); err != nil {
			return err
		}
	}
	if first || do.argv == nil {
		return nil
	}
	if do.makeDir {
		if err := h.Files.MakeDir(ctx, m.Name, modules.Attributes{Mode: dirMode, UID: -1, GID: -1}); err != nil {
			return err
		}
	}
	return m.run(ctx, h, do.argv)
}

// run starts mount or umount.
func (m *Mount) run(ctx context.Context, h modules.Host, argv []string) error {
	return modules.RunProgram(ctx, h, modules.Command{Argv: argv, Timeout: timeout})
}
