package kmod

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// loadedEffect is the kind of effect whose key is a module and whose state is whether it is loaded.
const loadedEffect modules.EffectKind = "kmod"

// timeout is how long modprobe may take; it may have to wait for a device.
const timeout = 2 * time.Minute

// steps are the steps of Apply.
type steps struct {
	files    any  // the steps of the edits
	modprobe bool // load or unload the module
}

// Check implements [modules.Resource].
func (k *Kmod) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := k.files().Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	h.Warn(k.contradicted)
	do := steps{files: plan.Steps}
	is, err := k.now(h)
	if err != nil {
		return modules.Plan{}, err
	}
	if want := k.Ensure != absent; is.loaded != want {
		if err := k.possible(h, is); err != nil {
			return modules.Plan{}, err
		}
		do.modprobe = true
		plan.Changes = append([]modules.Change{{Property: "loaded", Have: yesNo(is.loaded), Want: yesNo(want)}}, plan.Changes...)
		plan.Effects = append(plan.Effects, modules.Effect{Kind: loadedEffect, Key: kernelName(k.Name), State: want})
		for _, dir := range []string{"/proc/sys", "/sys/module", "/dev"} { // paths that a module adds
			plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: dir})
		}
		plan.MayFail = true // only the kernel knows
	}
	switch {
	case do.modprobe && k.Ensure == absent:
		plan.Action = "removed the module"
	case do.modprobe:
		plan.Action = "loaded the module"
	case do.files != nil:
		plan.Action = "persisted it"
	default:
		return modules.Plan{}, nil
	}
	plan.Steps = do
	return plan, nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// possible returns an error if the module can be neither loaded nor unloaded.
func (k *Kmod) possible(h modules.Host, is live) error {
	switch {
	case is.builtIn:
		return modules.Refuse("%s is built into the kernel of this host, and cannot be removed", k.Name)
	case !modules.HasRootRights(h.Files, "/etc/modprobe.d"):
		return modules.Refuse(`only root may load and remove modules; use "become"`)
	case !modules.HasProgram(h.Files, modules.DefaultPath, "modprobe"):
		return modules.Refuse("modprobe is not found in %s; install the package kmod; in a container, load the module on the host of the container", modules.DefaultPath)
	}
	return nil
}

// live is the state of a module.
type live struct{ loaded, builtIn bool }

// now returns the state of the module, in a check run the predicted one.
func (k *Kmod) now(h modules.Host) (live, error) {
	if state, predicted := h.Forecast.Lookup(loadedEffect, kernelName(k.Name)); predicted {
		return live{loaded: state.(bool)}, nil
	}
	at := "/sys/module/" + kernelName(k.Name)
	_, err := h.Files.Stat(at)
	switch {
	case err == nil:
		_, err = h.Files.Stat(at + "/initstate") // a built-in module does not have this file
		return live{true, modules.NotThere(err)}, nil
	case !modules.NotThere(err):
		return live{}, modules.PermissionRefusal(err)
	}
	built, err := k.listedAsBuiltIn(h)
	return live{built, built}, err
}

// listedAsBuiltIn reports whether a module that /sys does not show, since it has no parameters, is
// built into the kernel.
func (k *Kmod) listedAsBuiltIn(h modules.Host) (bool, error) {
	release, err := k.read(h, "/proc/sys/kernel/osrelease")
	if err != nil {
		return false, modules.Refuse("which modules the kernel of this system has is not known: %w", err)
	}
	list, err := k.read(h, "/lib/modules/"+strings.TrimSpace(release)+"/modules.builtin")
	switch {
	case modules.NotThere(err):
		return false, nil
	case err != nil:
		return false, err
	}
	for line := range strings.Lines(list) {
		if kernelName(strings.TrimSuffix(path.Base(strings.TrimSpace(line)), ".ko")) == kernelName(k.Name) {
			return true, nil
		}
	}
	return false, nil
}

func (k *Kmod) read(h modules.Host, name string) (string, error) {
	file, err := h.Files.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	return string(text), err
}

// Apply implements [modules.Resource]. It writes the files last, so that a boot never loads a module that the kernel
// has refused. So modprobe gets the parameters as arguments.
func (k *Kmod) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a module")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !do.modprobe {
		return k.files().Apply(ctx, h, do.files)
	}
	argv := []string{"modprobe", "--", k.Name}
	if k.Ensure == absent {
		argv = []string{"modprobe", "-r", "--", k.Name}
	}
	run := func(parameters ...string) func() error {
		command := modules.Command{Argv: append(argv, parameters...), Timeout: timeout}
		return func() error { return modules.RunProgram(ctx, h, command) }
	}
	switch stale, err := k.stale(h); {
	case err != nil:
		return err
	case k.Restore != nil && k.Ensure != absent: // the restored lines were loaded before, and modprobe needs their parameters
		return k.files().ApplyThen(ctx, h, do.files, run(k.Parameters...))
	case stale: // modprobe would also pass the old parameters, so the file comes first
		return k.files().ApplyThen(ctx, h, do.files, run())
	}
	return k.files().ApplyAfter(ctx, h, do.files, run(k.Parameters...))
}

// stale reports whether the file has other parameters for the module: modprobe would add them to its
// arguments.
func (k *Kmod) stale(h modules.Host) (bool, error) {
	if k.Ensure == absent || k.Restore != nil {
		return false, nil
	}
	text, err := k.read(h, probeFile)
	if err != nil && !modules.NotThere(err) {
		return false, modules.PermissionRefusal(err)
	}
	want := "options " + k.Name + " " + strings.Join(k.Parameters, " ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "options") && k.configures(line) && !right(line, want) {
			return true, nil
		}
	}
	return false, nil
}
