package swap

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// steps holds the steps of Apply.
type steps struct {
	off    bool
	files  any // the steps of the edit
	remove bool
	create int64 // bytes; 0 makes no file
	mode   bool  // others may not read it any more
	mkswap bool
	on     bool
	was    live // before
}

// fileMode is the mode of a swap file: any reader of the file could read the memory of other users.
const fileMode = 0o600

// Check implements [modules.Resource].
func (s *Swap) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := s.files().Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	if s.Ensure != absent && s.Fstab == "" && s.Restore == nil {
		h.Warn(func(h modules.Host) string { return fstab.Overridden(h.Files, s.Name, "swap") })
	}
	is, err := s.now(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	will, do := is, steps{files: plan.Steps, was: is}
	var changes []modules.Change
	if s.Ensure == absent {
		err = s.away(h, &will, &do, &changes)
	} else {
		err = s.there(h, &will, &do, &changes)
	}
	if err != nil {
		return modules.Plan{}, err
	}
	plan.Changes = append(changes, plan.Changes...)
	var actions []string
	for _, a := range []struct {
		done bool
		what string
	}{
		{do.off && !do.on, "deactivated it"}, {do.files != nil, "edited fstab"}, {do.remove, "removed the file"}, {do.create > 0, "made the file"}, {do.mode, "set its mode"},
		{do.mkswap && do.create == 0, "made it a swap area"}, {do.on && !do.off, "activated it"}, {do.on && do.off, "activated it again"},
	} {
		if a.done {
			actions = append(actions, a.what)
		}
	}
	if len(actions) == 0 {
		return modules.Plan{}, nil
	}
	if do.off || do.on || do.mkswap {
		if err := may(h.Files); err != nil {
			return modules.Plan{}, err
		}
	}
	if will != is {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: swapEffect, Key: s.Name, State: will})
	}
	switch {
	case do.remove:
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: s.Name, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}, Stays: true}})
	case !s.device() && (do.create > 0 || do.mode || do.mkswap):
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: s.Name, State: modules.PathState{
			FileInfo: modules.FileInfo{Kind: modules.Regular, Size: will.size, Mode: fileMode, Links: 1}, Stays: true, Partial: true,
		}})
	}
	plan.MayFail = plan.MayFail || do.on || do.off // the kernel decides
	plan.Action, plan.Steps = list(actions), do
	return plan, nil
}

// list puts actions into a sentence.
func list(actions []string) string {
	if last := len(actions) - 1; last > 0 {
		return strings.Join(actions[:last], ", ") + " and " + actions[last]
	}
	return actions[0]
}

// there plans the missing parts of a swap area with ensure: present or active.
func (s *Swap) there(h modules.Host, will *live, do *steps, changes *[]modules.Change) error {
	change := func(property, have, want string) {
		*changes = append(*changes, modules.Change{Property: property, Have: have, Want: want})
	}
	size, err := s.size()
	switch {
	case err != nil:
		return err
	case s.device() && !will.exists:
		return modules.Refuse("%s is not there", s.Name)
	case will.exists && will.holds != swapArea && will.holds != nothing:
		return modules.Refuse("%s holds %s and no swap area; nothing is overwritten", s.Name, will.holds)
	case !will.exists:
		if err := modules.InDirectory(h.Files, s.Name); err != nil {
			return err
		}
		if err := h.Files.MayReplace(s.Name); err != nil {
			return err
		}
		change("size", absent, fmt.Sprint(size))
		do.create, do.mkswap = size, true
	case !s.device() && size != 0 && will.size != size:
		change("size", fmt.Sprint(will.size), fmt.Sprint(size))
		do.create, do.mkswap, do.off = size, true, will.active
		do.on = will.active
	}
	if do.create == 0 && !will.private {
		change("mode", "others may read it", fmt.Sprintf("%04o", fileMode))
		do.mode = true
	}
	if do.create == 0 && will.holds != swapArea {
		change("holds", "nothing", swapArea)
		do.mkswap = true
	}
	will.exists, will.private, will.holds = true, true, swapArea
	if do.create > 0 {
		will.size = do.create
	}
	switch other := s.Priority != nil && will.priority != *s.Priority; {
	case s.Ensure == active && !will.active:
		change("active", "no", "yes")
		do.on = true
	case s.Ensure == active && other:
		change("priority", strconv.Itoa(will.priority), strconv.Itoa(*s.Priority))
		do.off, do.on = true, true
	case s.Ensure == present && s.Restore != nil && will.active: // it was inactive before the change to undo
		change("active", "yes", "no")
		do.off, do.on, will.active, will.priority = true, false, false, 0
	}
	if do.on {
		will.active = true
		if s.Priority != nil {
			will.priority = *s.Priority
		}
	}
	return nil
}

// away plans the removal of a swap area.
func (s *Swap) away(h modules.Host, will *live, do *steps, changes *[]modules.Change) error {
	if will.active {
		*changes = append(*changes, modules.Change{Property: "active", Have: "yes", Want: "no"})
		do.off, will.active, will.priority = true, false, 0
	}
	switch {
	case !will.exists || s.device():
		return nil
	case will.holds != swapArea && will.holds != nothing:
		return modules.Refuse("%s holds %s and no swap area; it is not removed", s.Name, will.holds)
	}
	if err := h.Files.MayReplace(s.Name); err != nil {
		return err
	}
	*changes = append(*changes, modules.Change{Property: "ensure", Have: present, Want: absent})
	do.remove, *will = true, live{}
	return nil
}

// Apply implements [modules.Resource]. It writes the line of fstab last: so the next boot does not fail if the kernel
// refuses the area. It removes the line before it removes the area.
func (s *Swap) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errPlan
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if do.off {
		if err := run(ctx, h, "swapoff", s.Name); err != nil {
			return err
		}
	}
	if do.remove {
		err := s.files().ApplyThen(ctx, h, do.files, func() error { return h.Files.Remove(ctx, s.Name, false) })
		return s.takeBack(context.WithoutCancel(ctx), h, do, err)
	}
	err := s.set(ctx, h, do)
	if err == nil && do.files != nil {
		if err = s.files().Apply(ctx, h, do.files); err != nil && do.on {
			if more := run(context.WithoutCancel(ctx), h, "swapoff", s.Name); more != nil {
				return fmt.Errorf("%w; %s is active until the next boot: %w", err, s.Name, more)
			}
		}
	}
	return s.takeBack(context.WithoutCancel(ctx), h, do, err)
}

// set makes the area, and activates it.
func (s *Swap) set(ctx context.Context, h modules.Host, do steps) error {
	given := modules.Attributes{Mode: fileMode, UID: -1, GID: -1}
	if do.create > 0 {
		if err := h.Files.Write(ctx, s.Name, io.LimitReader(zeros{}, do.create), given); err != nil {
			return err
		}
	}
	if do.mode {
		if err := h.Files.SetAttributes(ctx, s.Name, given); err != nil {
			return err
		}
	}
	if do.mkswap {
		if err := run(ctx, h, "mkswap", s.Name); err != nil {
			return err
		}
	}
	if do.on {
		return s.activate(ctx, h, s.options())
	}
	return nil
}

func (s *Swap) activate(ctx context.Context, h modules.Host, options []string) error {
	return run(ctx, h, "swapon", "-o", strings.Join(options, ","), s.Name)
}

// takeBack undoes the changes of a failed Apply. The contents of a swap area are not needed, so a new area of the
// earlier size replaces the old one. The mode is not restored, so other users still cannot read the file, even if they
// could before.
func (s *Swap) takeBack(ctx context.Context, h modules.Host, do steps, err error) error {
	if err == nil {
		return nil
	}
	left := func(what string, more error) {
		if more != nil {
			err = fmt.Errorf("%w; %s: %w", err, what, more)
		}
	}
	now, more := h.Files.Stat(s.Name)
	left("checking whether "+s.Name+" still exists", ignoreMissing(more))
	there := more == nil
	switch {
	case do.create > 0 && !do.was.exists && there:
		left("removing "+s.Name, h.Files.Remove(ctx, s.Name, false))
	case do.create > 0 && do.was.exists && now.Size != do.was.size:
		old := do
		old.create, old.mkswap, old.on = do.was.size, do.was.holds == swapArea, false
		left(s.Name+" has another size than before", s.set(ctx, h, old))
	}
	if do.off && do.was.active {
		var options []string
		if do.was.priority >= 0 {
			options = append(options, fmt.Sprintf("pri=%d", do.was.priority))
		} else {
			options = append(options, "defaults")
		}
		left(s.Name+" is not active any more", s.activate(ctx, h, options))
	}
	return err
}

func ignoreMissing(err error) error {
	if modules.NotThere(err) {
		return nil
	}
	return err
}
