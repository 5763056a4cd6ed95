package selinux

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// modeEffect is the kind of effect whose state is the mode that the kernel has now; it has no key.
const modeEffect modules.EffectKind = "selinux"

// enforce is the file with the mode of a kernel that runs SELinux.
const enforce = "/sys/fs/selinux/enforce"

// steps are the steps of Apply.
type steps struct {
	files any // the steps of the edit
	set   bool
}

// Check implements [modules.Resource].
func (s *Selinux) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	if _, err := semanage.Has(h); err != nil {
		return modules.Plan{}, err
	}
	if err := s.installed(h.Files); err != nil {
		return modules.Plan{}, err
	}
	files := s.files()
	plan, err := files.Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	do := steps{files: plan.Steps}
	have, err := s.now(h)
	if err != nil {
		return modules.Plan{}, err
	}
	if want := s.live(); have != "" && want != "" && have != want {
		if err := semanage.MayChange(h.Files, "setenforce"); err != nil {
			return modules.Plan{}, err
		}
		do.set = true
		plan.Changes = append([]modules.Change{{Property: "mode", Have: have, Want: want}}, plan.Changes...)
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modeEffect, State: want})
	}
	if do == (steps{}) {
		return modules.Plan{}, nil
	}
	plan.Action, plan.Steps = "made SELinux "+s.mode(), do
	return plan, nil
}

// installed makes sure that the host would not start with a policy that it does not have.
func (s *Selinux) installed(files modules.FileReader) error {
	if s.Policy == "" || s.Restore != nil || s.mode() == disabled {
		return nil
	}
	_, err := modules.Follow(files, "/etc/selinux/"+s.Policy+"/policy")
	if modules.NotThere(err) {
		return modules.Refuse("this host has no policy %s: no directory /etc/selinux/%s/policy (install the package selinux-policy-%s)", s.Policy, s.Policy, s.Policy)
	}
	return modules.PermissionRefusal(err)
}

// now is the kernel's current mode, in a check run the predicted one; empty if it does not run SELinux.
func (s *Selinux) now(h modules.Host) (string, error) {
	if state, predicted := h.Forecast.Lookup(modeEffect, ""); predicted {
		return state.(string), nil
	}
	file, err := h.Files.Open(enforce)
	switch {
	case modules.NotThere(err):
		return "", nil
	case err != nil:
		return "", modules.PermissionRefusal(err)
	}
	defer file.Close()
	const most = 64
	text, err := io.ReadAll(io.LimitReader(file, most))
	if strings.TrimSpace(string(text)) == "1" {
		return enforcing, err
	}
	return permissive, err
}

// Apply implements [modules.Resource]. The file is written last: a boot never reads a mode that the
// kernel has refused.
func (s *Selinux) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of SELinux")
	}
	var live func() error
	if do.set {
		mode := "0"
		if s.live() == enforcing {
			mode = "1"
		}
		live = func() error {
			return modules.RunProgram(ctx, h, modules.Command{Argv: []string{"setenforce", mode}, Timeout: semanage.Timeout})
		}
	}
	return s.files().ApplyAfter(ctx, h, do.files, live)
}
