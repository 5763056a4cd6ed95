package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/playbooks/trust"
)

// trustOptions are the flags of trust.
type trustOptions struct {
	yes          bool
	fingerprints string // path; "" is none
}

func trustCommand(f *fleet, p *printer) *cobra.Command {
	var o trustOptions
	c := &cobra.Command{
		Use:   "trust PATTERN",
		Short: "show the keys of new hosts, and add them to known_hosts",
		Long: `trust asks the hosts of a pattern for their keys, and the jump hosts on the way
that are not known; it logs in to none but known jump hosts. It shows the
fingerprints of new hosts, asks once whether they are right, and adds them to the
known_hosts file that a run would read. Hosts that are known are left alone, and a
key that has changed is refused: only you can remove it.

Compare the fingerprints with what the hosts' consoles show, or with what
ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub says on them. --fingerprints FILE
does that: only keys that the file has for their host are added. Its lines are such as

  web1 SHA256:…
  web1 256 SHA256:… root@web1 (ED25519)
  web1 ssh-ed25519 AAAA…

With --yes nobody is asked. Alone it trusts whoever answers now.`,
		Args:              onePattern,
		ValidArgsFunction: f.inventory.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.inventory.listHosts {
				return f.inventory.printHosts(cmd.Context(), p, args)
			}
			return enrol(cmd.Context(), f, p, args[0], o)
		},
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "ask nobody")
	c.Flags().StringVar(&o.fingerprints, "fingerprints", "", "add only keys that this file has for their host")
	return c
}

// errNobody is why trust does not begin.
var errNobody = errors.New("there is no terminal to ask whether the keys are right: give the file of --fingerprints and --yes, or --yes alone to trust whoever answers now")

// enrol makes known the new ones among the hosts of a pattern.
func enrol(ctx context.Context, f *fleet, p *printer, pattern string, o trustOptions) error {
	a := f.app
	if !o.yes && !f.mode.check && !a.canAsk() {
		return errNobody
	}
	options := trust.Options{
		Unasked: o.yes, Check: f.mode.check, JSON: p.json(),
		In: a.in, Out: a.out, Err: a.err, Warn: a.warn,
	}
	if o.fingerprints != "" {
		var err error
		if options.Fingerprints, err = trust.ReadFingerprints(ctx, o.fingerprints); err != nil {
			return err
		}
	}
	if f.workers.url != "" && f.workers.set.Changed(workersFlag) {
		return errFromHere
	}
	r, hosts, err := f.runnerFor(ctx, pattern, purpose{newKnownHosts: true})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := f.unlock(ctx, r, hosts); err != nil { // jump hosts are logged in to
		return err
	}
	ctx, end := a.untilStop(ctx)
	defer end()
	reached := trust.Fleet{Inventory: r.Inventory, Connect: r.Connect, Dialer: r.Dialer, Forks: r.Options.Forks}
	outcome, err := trust.Enrol(ctx, reached, hosts, options)
	if errors.Is(err, context.Canceled) {
		return exitStatus(interruptedStatus)
	}
	if err != nil {
		return err
	}
	status := 0
	if outcome.Failed {
		status += unreachableStatus
	}
	if outcome.New && p.detailedExitCode {
		status += changedStatus
	}
	return statusOf(status)
}
