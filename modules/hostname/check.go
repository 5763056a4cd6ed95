package hostname

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// nameEffect is the kind of effect whose state is the name that the kernel has; it has no key.
const nameEffect modules.EffectKind = "hostname"

// kernel is the file with the kernel's current name.
const kernel = "/proc/sys/kernel/hostname"

// steps are the steps of Apply.
type steps struct {
	files any  // the steps of the edits
	set   bool // the name that the kernel has
}

// Check implements [modules.Resource].
func (n *Hostname) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := n.files().Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	h.Warn(func(h modules.Host) string {
		if word := n.onCommandLine(h.Files); n.Restore == nil && word != "" && word != bootName+n.static() {
			return "a boot names the host otherwise, because the command line of the kernel has " + word
		}
		return ""
	})
	do := steps{files: plan.Steps}
	have, err := n.now(h)
	if err != nil {
		return modules.Plan{}, err
	}
	if have != n.static() {
		switch {
		case !modules.HasRootRights(h.Files, "/etc/hostname"):
			return modules.Plan{}, modules.Refuse(`only root may name the host; use "become"`)
		case !modules.HasProgram(h.Files, modules.DefaultPath, "hostname"):
			return modules.Plan{}, modules.Refuse("the program hostname is not found in %s; install the package hostname", modules.DefaultPath)
		}
		do.set = true
		plan.Changes = append([]modules.Change{{Property: "name", Have: have, Want: n.static()}}, plan.Changes...)
		plan.Effects = append(plan.Effects, modules.Effect{Kind: nameEffect, State: n.static()})
	}
	if do == (steps{}) {
		return modules.Plan{}, nil
	}
	plan.Action, plan.Steps = "named the host", do
	return plan, nil
}

// bootName begins the word of the kernel's command line that overrides /etc/hostname (systemd(1)).
const bootName = "systemd.hostname="

// onCommandLine returns that word, or "".
func (n *Hostname) onCommandLine(files modules.FileReader) (last string) {
	for _, line := range edit.Lines(files, "/proc/cmdline") {
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, bootName) {
				last = word
			}
		}
	}
	return last
}

// now is the kernel's current name, in a check run the predicted one.
func (n *Hostname) now(h modules.Host) (string, error) {
	if state, predicted := h.Forecast.Lookup(nameEffect, ""); predicted {
		return state.(string), nil
	}
	file, err := h.Files.Open(kernel)
	if err != nil {
		return "", modules.Refuse("cannot find the host name on this system: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 4<<10))
	return strings.TrimSpace(string(text)), err
}

// Apply implements [modules.Resource]. The files are written last: a boot never reads a name that the
// kernel has refused.
func (n *Hostname) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a name")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var live func() error
	if do.set {
		live = func() error {
			return modules.RunProgram(ctx, h, modules.Command{Argv: []string{"hostname", n.static()}})
		}
	}
	return n.files().ApplyAfter(ctx, h, do.files, live)
}
