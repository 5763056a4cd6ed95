package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// timeout limits mount and umount; a server may be far away.
const timeout = 2 * time.Minute

// steps holds the steps of Apply.
type steps struct {
	write   bool
	file    any  // the steps of the edit
	makeDir bool // the path is not there
	do      deed
	options string // options of mount(8)
	layers  int    // how many mounts to unmount
}

// A deed is a step at the path.
type deed int

const (
	nothing deed = iota
	mountIt
	remountIt
	unmountIt
)

// dirMode is the mode of a new mount point.
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
	if (m.Ensure == mounted || m.Ensure == present) && m.Fstab == "" && m.Restore == nil {
		h.Warn(func(h modules.Host) string { return fstab.Overridden(h.Files, m.Name, "mount") })
	}
	is, err := m.now(h)
	if err == nil {
		err = m.plain(h.Files, is)
	}
	if err != nil {
		return modules.Plan{}, err
	}
	d := draft{Mount: m, host: h, is: is, plan: plan, steps: steps{write: plan.Pending(), file: plan.Steps}}
	if d.steps.write {
		d.actions = append(d.actions, "edited fstab")
	}
	switch m.Ensure {
	case mounted:
		err = d.mounted()
	case unmounted, absent:
		err = d.unmounted()
	}
	if err != nil || len(d.actions) == 0 {
		return modules.Plan{}, err
	}
	if d.steps.do != nothing {
		if err := needsRoot(); err != nil {
			return modules.Plan{}, err
		}
	}
	d.plan.Action, d.plan.Steps = strings.Join(d.actions, " and "), d.steps
	return d.plan, nil
}

func needsRoot() error {
	if os.Geteuid() != 0 {
		return modules.Refuse(`only root may mount and unmount; use "become"`)
	}
	return nil
}

// A draft is the plan of one check in progress.
type draft struct {
	*Mount
	host    modules.Host
	is      live // the mounts at the path
	plan    modules.Plan
	steps   steps
	actions []string
}

func (d *draft) change(property, have, want string) {
	d.plan.Changes = append(d.plan.Changes, modules.Change{Property: property, Have: have, Want: want})
}

// will declares the state of the path after the plan. It is partial: the mounted file system sets owner and mode.
func (d *draft) will(state live) {
	at := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory, Mode: dirMode}, Partial: true, Stays: !d.steps.makeDir}
	if is, err := d.host.Files.Stat(d.Name); err == nil {
		at.Kind, at.Mode = is.Kind, is.Mode
	}
	d.plan.Effects = append(d.plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: d.Name, State: at})
	d.plan.Effects = append(d.plan.Effects, modules.Effect{Kind: modules.MountEffect, Key: d.Name, State: state})
	if !d.empty() {
		d.plan.Effects = append(d.plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: d.Name})
	}
}

// mounted plans a mount or a remount.
func (d *draft) mounted() error {
	is, lacks := d.is, d.lacks()
	extra, off := d.extra()
	switch {
	case !is.there:
		return d.mount()
	case d.other() && d.bind():
		return modules.Refuse("the path %s of %s is mounted at %s, not %s; first unmount it (ensure: unmounted)", is.shows.Path, is.device, d.Name, d.Device)
	case d.other():
		return modules.Refuse("%s of type %s is mounted at %s; unmount it first (ensure: unmounted)", is.device, is.fstype, d.Name)
	case len(lacks)+len(extra) > 0:
		d.remount(lacks, extra, off)
	case d.steps.write && d.Restore == nil && len(d.unseen()) > 0:
		d.host.Report.Message(modules.LevelWarning, fmt.Sprintf("%s is already mounted, possibly without %s: fstab applies it at the next mount", d.Name, strings.Join(d.unseen(), ",")))
	}
	return nil
}

func (d *draft) mount() (err error) {
	if d.steps.makeDir, err = d.missing(); err != nil {
		return err
	}
	d.steps.do, d.steps.options = mountIt, d.given()
	d.actions = append(d.actions, "mounted it")
	d.change("mounted", unmounted, d.Device)
	d.will(live{there: true, device: d.Device, fstype: d.Fstype, options: d.Options})
	d.plan.MayFail = d.Fstype != "tmpfs" // tmpfs needs no device
	return nil
}

// remount plans to set the missing options, and to turn off the extra ones.
func (d *draft) remount(lacks, extra, off []string) {
	is := d.is
	d.steps.do, d.steps.options = remountIt, d.remountOptions(lacks, off)
	d.actions = append(d.actions, "remounted it")
	var want []string
	if len(lacks) > 0 {
		want = append(want, "with "+strings.Join(lacks, ","))
	}
	if len(extra) > 0 {
		want = append(want, "without "+strings.Join(extra, ","))
	}
	d.change("options", strings.Join(is.options, ","), strings.Join(want, ", "))
	stay := slices.DeleteFunc(slices.Clone(is.options), func(option string) bool {
		_, resized := value(lacks, "size")
		return slices.Contains(extra, option) || resized && strings.HasPrefix(option, "size=")
	})
	d.will(live{there: true, device: is.device, fstype: is.fstype, options: append(slices.Clone(d.Options), stay...), layers: is.layers})
	d.plan.MayFail = true
}

// unmounted plans to unmount all file systems at the path.
func (d *draft) unmounted() error {
	is := d.is
	if !is.there {
		return nil
	}
	if len(is.below) > 0 {
		return modules.Refuse("%s has file systems mounted in it: %s; unmount them first", d.Name, strings.Join(is.below, ", "))
	}
	d.steps.do, d.steps.layers = unmountIt, is.layers
	d.actions = append(d.actions, "unmounted it")
	have := is.device
	if is.layers > 1 {
		have = fmt.Sprintf("%d mounts, %s above the others", is.layers, is.device)
	}
	d.change("mounted", have, unmounted)
	d.will(live{})
	d.plan.MayFail = true // a process may use it
	return nil
}

// remountOptions returns the options of a remount. An undo passes only the options that differ.
func (d *draft) remountOptions(lacks, off []string) string {
	options := []string{"remount"}
	switch given := d.given(); {
	case d.Restore != nil:
		options = append(options, lacks...)
	case given != "defaults":
		options = append(options, given)
	}
	return strings.Join(append(options, off...), ",")
}

// plain refuses a path with a symbolic link on it: the kernel lists a mount by the path without
// links, and another user may have made the link. A line of fstab may be there all the same.
func (m *Mount) plain(files modules.FileReader, is live) error {
	if m.Ensure == present || m.Ensure == absent && !is.there {
		return nil
	}
	at, passed, err := modules.Resolve(files, m.Name)
	switch {
	case err == nil && at != m.Name:
		return modules.Refuse("the path %s contains the symbolic link %s and leads to %s; ccm-push does not mount or unmount through a link: write the path without links", m.Name, passed[0], at)
	case len(passed) > 0:
		return modules.Refuse("the path %s contains the symbolic link %s; ccm-push does not mount through a link: write the path without links", m.Name, passed[0])
	}
	return nil // other checks report a missing path
}

// device refuses a device that another user's link leads to.
func (m *Mount) device(files modules.FileReader) error {
	if !strings.HasPrefix(m.Device, "/") {
		return nil
	}
	return modules.MayFollow(files.Stat, m.Device, os.Geteuid())
}

// empty reports whether nothing is below the path before and after: a new file system in memory.
func (d *draft) empty() bool {
	names, err := d.host.Files.List(d.Name)
	return d.Ensure == mounted && d.Fstype == "tmpfs" && len(names) == 0 && (err == nil || modules.NotThere(err))
}

// missing reports whether the mount point must be created.
func (d *draft) missing() (bool, error) {
	at, err := modules.Follow(d.host.Files, d.Name)
	switch {
	case modules.NotThere(err):
		return true, modules.InDirectory(d.host.Files, d.Name)
	case err != nil:
		return false, modules.PermissionRefusal(err)
	case at.Kind != modules.Directory && !d.bind():
		return false, modules.Refuse("%s is not a directory, so nothing can be mounted there", d.Name)
	}
	return false, nil
}

// Apply implements [modules.Resource]. The line of fstab comes last, so a boot never meets a mount that
// has been refused. If fstab cannot be written, a new mount is unmounted again.
func (m *Mount) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a mount")
	}
	if do.do != nothing && h.Mounts == nil {
		return modules.Refuse("mounting is not supported on this system")
	}
	if err := m.change(ctx, h, do); err != nil || !do.write {
		return err
	}
	p.Steps = do.file
	err := m.edited().Apply(ctx, h, p)
	switch {
	case err == nil || do.do == nothing:
		return err
	case do.do == mountIt:
		back := context.WithoutCancel(ctx)
		if left := errors.Join(h.Mounts.Unmount(back, m.Name), m.removeDir(back, h, do)); left != nil {
			return fmt.Errorf("fstab: %w; %s is still mounted: %w", err, m.Name, left)
		}
		return err
	case do.do == unmountIt:
		return fmt.Errorf("fstab: %w; %s has been unmounted, and is mounted again at the next boot", err, m.Name)
	}
	return fmt.Errorf("fstab: %w; %s has its new options until the next boot", err, m.Name)
}

// change mounts, remounts or unmounts.
func (m *Mount) change(ctx context.Context, h modules.Host, do steps) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	run := func(argv ...string) error {
		return modules.RunProgram(ctx, h, modules.Command{Argv: argv, Timeout: timeout})
	}
	switch do.do {
	case remountIt:
		return h.Mounts.Remount(ctx, m.Name, func(stage string) error { return run("mount", "-o", do.options, "--", stage) })
	case unmountIt:
		for range max(do.layers, 1) {
			if err := h.Mounts.Unmount(ctx, m.Name); err != nil {
				return err
			}
		}
		return nil
	case nothing:
		return nil
	}
	if do.makeDir {
		if err := h.Files.MakeDir(ctx, m.Name, modules.Attributes{Mode: dirMode, UID: -1, GID: -1}); err != nil {
			return err
		}
	}
	var err error
	switch {
	case m.bind() && strings.HasPrefix(m.Device, "/"):
		err = h.Mounts.Bind(ctx, m.Device, m.Name, slices.Contains(m.Options, "rbind"), func(stage string) error {
			if do.options == "bind" || do.options == "rbind" {
				return nil
			}
			return run("mount", "-o", "remount,bind,"+do.options, "--", stage)
		})
	default:
		// mount(8) opens the device by its name, so this leaves a moment in which another user can
		// exchange a link of their own.
		if err = m.device(h.Files); err != nil {
			break
		}
		err = h.Mounts.Mount(ctx, m.Name, func(stage string) error {
			return run("mount", "-t", m.Fstype, "-o", do.options, "--", m.Device, stage)
		})
	}
	if err != nil {
		return errors.Join(err, m.removeDir(context.WithoutCancel(ctx), h, do))
	}
	return nil
}

// removeDir removes the directory that was made to mount at.
func (m *Mount) removeDir(ctx context.Context, h modules.Host, do steps) error {
	if !do.makeDir {
		return nil
	}
	return h.Files.Remove(ctx, m.Name, false)
}
