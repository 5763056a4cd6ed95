package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/trust"
	"github.com/ccm-push/ccm-push/transport"
)

// trustOptions are the flags of trust.
type trustOptions struct {
	yes          bool
	fingerprints string // path; "" is none
}

func (a *app) trustCommand() *cobra.Command {
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
		ValidArgsFunction: a.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.flags.listHosts {
				return a.listPattern(cmd.Context(), args)
			}
			return a.trust(cmd.Context(), args[0], o)
		},
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "ask nobody")
	c.Flags().StringVar(&o.fingerprints, "fingerprints", "", "add only keys that this file has for their host")
	return c
}

// errNobody is why trust does not begin.
var errNobody = errors.New("there is no terminal to ask whether the keys are right: give the file of --fingerprints and --yes, or --yes alone to trust whoever answers now")

// trust enrols the new ones among the hosts of a pattern.
func (a *app) trust(ctx context.Context, pattern string, o trustOptions) error {
	if !o.yes && !a.flags.check && !a.canAsk() {
		return errNobody
	}
	options := trust.Options{Unasked: o.yes, Check: a.flags.check, JSON: a.flags.output == "json", In: a.in, Out: a.out, Err: a.err, Warn: a.warn}
	if o.fingerprints != "" {
		var err error
		if options.Fingerprints, err = trust.ReadFingerprints(o.fingerprints); err != nil {
			return err
		}
	}
	a.flags.newKnownHosts = true
	r, hosts, err := a.runnerFor(ctx, pattern)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := a.credentials(ctx, r, hosts); err != nil { // jump hosts are logged in to
		return err
	}
	ctx, end := a.untilStop(ctx)
	defer end()
	outcome, err := trust.Enrol(ctx, fleetOf(r), hosts, options)
	if errors.Is(err, context.Canceled) {
		return exitStatus(interruptedStatus)
	}
	if err != nil {
		return err
	}
	return a.trustStatus(outcome)
}

func (a *app) trustStatus(o trust.Outcome) error {
	status := 0
	if o.Failed {
		status += unreachableStatus
	}
	if o.New && a.flags.detailedExitCode {
		status += changedStatus
	}
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

// canAsk reports whether a person reads what we write and can answer.
func (a *app) canAsk() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// fleetOf is how a runner reaches hosts.
func fleetOf(r *playbooks.Runner) trust.Fleet {
	return trust.Fleet{Inventory: r.Inventory, Connect: r.Connect, Dialer: r.Dialer, Forks: r.Options.Forks}
}

// trustHint says how to trust the key of a host of a run.
func (a *app) trustHint(r *playbooks.Runner) func(transport.Target, ssh.PublicKey) string {
	return func(t transport.Target, _ ssh.PublicKey) string {
		fleet := fleetOf(r)
		return "compare the fingerprint with what the host's console shows, then trust it: " + a.trustCall([]string{fleet.Selectable(t)})
	}
}

// trustCall is a command line that trusts hosts.
func (a *app) trustCall(hosts []string) string {
	return trust.CommandLine(a.flags.inventory, a.flags.knownHosts, hosts)
}
