package semanage

import (
	"context"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Timeout bounds a program that changes the policy, which is rebuilt each time.
const Timeout = 10 * time.Minute

// MayChange returns the reason why this process cannot change SELinux with a program, or nil. The reason for a missing
// program names its package.
func MayChange(files modules.Files, program string) error {
	if !modules.HasRootRights(files, Config) {
		return modules.Refuse(`only root may change SELinux; use "become"`)
	}
	if modules.HasProgram(files, modules.DefaultPath, program) {
		return nil
	}
	packages := "policycoreutils"
	switch program {
	case "semanage":
		packages = "policycoreutils-python-utils, or semanage-utils of Debian 13"
	case "setenforce":
		packages = "libselinux-utils, or selinux-utils of Debian"
	}
	return modules.Refuse("the program %s is not found in %s; install %s", program, modules.DefaultPath, packages)
}

// Import runs semanage with lines in the format of semanage-import(8): all of them take effect, or none.
func (s System) Import(ctx context.Context, h modules.Host, lines ...string) error {
	exit, err := h.Commands.Run(ctx, modules.Command{
		Argv: []string{"semanage", "import"}, Timeout: Timeout, Stdin: strings.Join(lines, "\n") + "\n",
	})
	if err != nil || exit.Code == 0 {
		return err
	}
	said := strings.Split(strings.TrimSpace(exit.Stderr.Text), "\n") // libraries warn first
	return modules.Refuse("semanage ended with exit code %d: %s", exit.Code, said[len(said)-1])
}

// Put runs semanage to store a record of an object such as port; options are the options after -a. known means that the
// store has a record of the same key. A record of the policy itself is then stored with these values, too: only
// semanage knows whether the policy has one.
func (s System) Put(ctx context.Context, h modules.Host, object, options string, known bool) error {
	change := func() error { return s.Import(ctx, h, object+" -m "+options) }
	if known {
		return change()
	}
	err := s.Import(ctx, h, object+" -a "+options)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if change() == nil {
		return nil
	}
	return err
}
