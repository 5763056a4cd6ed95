package sysctl

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// settingEffect is the kind of effect whose key is a path below /proc/sys and whose state is its
// value.
const settingEffect modules.EffectKind = "sysctl"

// steps are the steps of Apply.
type steps struct {
	set   bool
	write bool
	file  any // the steps of the edit
}

// Check implements [modules.Resource].
func (s *Sysctl) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	var plan modules.Plan
	if s.persists() {
		var err error
		if plan, err = (edit.Files{s.edited()}).Check(ctx, h); err != nil {
			return modules.Plan{}, err
		}
	}
	h.Warn(s.overridden)
	do := steps{write: plan.Steps != nil, file: plan.Steps}
	if s.sets() && s.Value != "" {
		have, err := s.now(h)
		if err != nil {
			return modules.Plan{}, err
		}
		if want := value(s.Value); have != want {
			if err := s.settable(h, have); err != nil {
				return modules.Plan{}, err
			}
			do.set = true
			plan.Changes = append([]modules.Change{{Property: "value", Have: have, Want: want}}, plan.Changes...)
			plan.Effects = append(plan.Effects, s.effects(h, want)...)
			plan.MayFail = plan.MayFail || !alike(have, want)
		}
	}
	switch {
	case do.set && do.write:
		plan.Action = "set and persisted the value"
	case do.set:
		plan.Action = "set the value"
	case do.write && s.Ensure == absent:
		plan.Action = "removed the value from the file"
	case do.write:
		plan.Action = "persisted the value"
	default:
		return modules.Plan{}, nil
	}
	plan.Steps = do
	return plan, nil
}

// now is the current value, in a check run the predicted one.
func (s *Sysctl) now(h modules.Host) (string, error) {
	if state, predicted := h.Forecast.Lookup(settingEffect, s.key()); predicted {
		return state.(string), nil
	}
	file, err := h.Files.Knowing(settingEffect).Open(s.at())
	switch {
	case modules.NotThere(err):
		h.Forecast.Lookup(modules.AnyEffect, "") // a pending change may load the module with this setting
		return "", modules.Refuse("this host has no setting %s (first load the kernel module that provides it, or set 'runtime: false')", s.Name)
	case err != nil:
		return "", modules.PermissionRefusal(err)
	}
	defer file.Close()
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return "", modules.Refuse("reading %s: %w", s.Name, err)
	}
	return value(string(text)), nil
}

// untilBoot are settings that keep a value until the next boot, once they have it.
var untilBoot = map[string]string{
	"kernel/kexec_load_disabled":       "1",
	"kernel/modules_disabled":          "1",
	"kernel/unprivileged_bpf_disabled": "1",
	"kernel/yama/ptrace_scope":         "3",
}

// settable returns an error if the value could not be set.
func (s *Sysctl) settable(h modules.Host, have string) error {
	if !modules.HasRootRights(h.Files, "/etc/sysctl.conf") { // below /proc/sys root has no right to make files
		return modules.Refuse(`only root may set %s; use "become"`, s.Name)
	}
	if is, err := h.Files.Knowing(settingEffect).Stat(s.at()); err == nil && is.Mode&0o222 == 0 {
		return modules.Refuse("the kernel reports %s, and lets no user set it (set 'runtime: false')", s.Name)
	}
	if last := untilBoot[s.key()]; last != "" && last == have {
		return modules.Refuse("%s is %s, which the kernel keeps until the next boot (set 'runtime: false')", s.Name, have)
	}
	err := h.Files.MaySetAttributes(path.Dir(s.at()), modules.Attributes{UID: -1, GID: -1, KeepMode: true})
	if errors.Is(err, modules.ErrKernelRefuses) {
		return modules.Refuse("%s is read-only on this host, as in a container (write 'runtime: false', or change the setting on the host of the container)", s.Name)
	}
	return nil
}

// alike reports whether the kernel will accept a value: it has as many numbers as the current one. Only the kernel can
// check other values.
func alike(have, want string) bool {
	number := func(word string) bool { _, err := strconv.ParseInt(word, 10, 64); return err == nil }
	is, will := strings.Fields(have), strings.Fields(want)
	return len(is) == len(will) && !slices.ContainsFunc(append(is, will...), func(word string) bool { return !number(word) })
}

// Apply implements [modules.Resource]. The file is written last: a boot never reads a value that the
// kernel has refused.
func (s *Sysctl) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a setting")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var live func() error
	if do.set {
		live = func() error { return s.set(h) }
	}
	return edit.Files{s.edited()}.ApplyAfter(ctx, h, do.file, live)
}

// set writes the value to the kernel.
func (s *Sysctl) set(h modules.Host) error {
	dir, err := h.Files.OpenDirectory(path.Dir(s.at()))
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := dir.OpenFile(path.Base(s.at()), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value(s.Value) + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return modules.Refuse("the kernel does not take %q for %s: %w", value(s.Value), s.Name, err)
	}
	return nil
}
