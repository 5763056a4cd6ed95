package hosts

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/trust"
)

// trustOptions are the flags of trust.
type trustOptions struct {
	yes          bool
	fingerprints string // path; empty means none
}

func trustCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	var o trustOptions
	c := &cobra.Command{
		Use:   "trust PATTERN",
		Short: "show the keys of new hosts, and add them to known_hosts",
		Long: `ccm-push trust fetches the SSH host keys of hosts, and of unknown jump hosts on the way to them. It
prints the fingerprints of new hosts, prompts once, and adds the keys to the known_hosts file that a
run uses. It skips hosts whose keys are already in this file. If the key of a host has changed, the
command fails: remove the old key yourself.

On the console of each host, compare the fingerprint with the output of ssh-keygen -lf
/etc/ssh/ssh_host_ed25519_key.pub. With --fingerprints FILE, ccm-push compares the fingerprints
itself. It adds a key only if the file lists the key for this host. Examples of lines:

  web1 SHA256:…
  web1 256 SHA256:… root@web1 (ED25519)
  web1 ssh-ed25519 AAAA…

--yes skips the prompt. If you pass --yes without --fingerprints, ccm-push does not verify the keys,
and trusts any machine that answers.`,
		Example: `  ccm-push trust 'web*'
  ccm-push trust all --fingerprints keys.txt --yes`,
		Args:              arguments.OnePattern,
		ValidArgsFunction: f.Inventory.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Flags.Inventory.ListHosts {
				return f.Inventory.PrintHosts(cmd.Context(), p, args)
			}
			return enrol(cmd.Context(), f, p, args[0], o)
		},
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not prompt")
	c.Flags().StringVar(&o.fingerprints, "fingerprints", "", "add only keys that this file lists for their host")
	return c
}

// errNobody is why trust does not begin.
var errNobody = errors.New("standard input is not a terminal, so trust cannot prompt: pass --fingerprints FILE --yes, or --yes alone to trust any machine that answers")

// enrol makes known the new ones among the hosts of a pattern.
func enrol(ctx context.Context, f *fleet.Fleet, p *output.Printer, pattern string, o trustOptions) error {
	a := f.App
	if !o.yes && !f.Flags.Mode.Check && !a.CanAsk() {
		return errNobody
	}
	options := trust.Options{
		Unasked: o.yes, Check: f.Flags.Mode.Check, JSON: p.JSON(),
		In: a.In, Out: a.Out, Err: a.Err, Warn: a.Warn,
	}
	if o.fingerprints != "" {
		var err error
		if options.Fingerprints, err = trust.ReadFingerprints(ctx, o.fingerprints); err != nil {
			return err
		}
	}
	if f.Flags.Workers.URL != "" && f.Flags.Changed(flags.WorkersFlag) {
		return links.ErrFromHere
	}
	r, hosts, err := f.RunnerFor(ctx, pattern, fleet.Purpose{NewKnownHosts: true})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := f.Unlock(ctx, r, hosts); err != nil { // jump hosts are logged in to
		return err
	}
	ctx, end := a.UntilStop(ctx)
	defer end()
	reached := trust.Fleet{Inventory: r.Inventory, Connect: r.Connect, Dialer: r.Dialer, Forks: r.Options.Forks}
	outcome, err := trust.Enrol(ctx, reached, hosts, options)
	if errors.Is(err, context.Canceled) {
		return exit.Status(exit.Interrupted)
	}
	if err != nil {
		return err
	}
	status := 0
	if outcome.Failed {
		status += exit.Unreachable
	}
	if outcome.New && p.Flags.Output.DetailedExitCode {
		status += exit.Changed
	}
	return exit.Error(status)
}
