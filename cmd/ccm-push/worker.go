package main

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers"
)

func workerCommand(f *fleet, p *printer) *cobra.Command {
	var site, key, coordinators string
	var addresses []string
	var shards int
	var show bool
	c := &cobra.Command{
		Use:   "worker --workers URL",
		Short: "work on hosts of runs that are begun elsewhere",
		Long: `worker takes hosts of runs that are begun with --workers and the same URL, until it is stopped. It
gets the files that the plays read, and the inventory of its hosts, sealed to a key that it makes for
each run; it logs in to hosts with certificates that are made for that key. What
happens is told by who has begun the run.

It works for those whose public keys are on its list, and has a key of its own that is on theirs: both as
ssh-keygen -t ed25519 makes them, without a passphrase. Ctrl-C lets the resources end that are running;
the hosts that remain go to other workers. With -v it prints a line when it takes hosts of a run, and
when they have ended.`,
		Example: `  ccm-push worker --workers tls://nats.example.com:4222
  ccm-push worker --workers tls://nats.example.com:4222 --site paris`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := f.app
			if shards < 1 {
				return fmt.Errorf("--shards %d: at least 1", shards)
			}
			if show {
				return showHeld(a)
			}
			if f.workers.url == "" {
				return errNoWorkersURL
			}
			own, err := workers.ReadKey(cmp.Or(key, a.configuration(workerKey)))
			if err != nil {
				return fmt.Errorf("the key of this worker: %w", err)
			}
			ring, err := workers.OpenKeyFile(cmp.Or(coordinators, a.configuration(coordinatorsList)), a.say)
			if err != nil {
				return fmt.Errorf("the keys of those who begin runs: %w", err)
			}
			from, err := prefixes(addresses)
			if err != nil {
				return err
			}
			files, _ := f.pace.affordable(a.warn)
			w := &workers.Worker{
				Key: own, Coordinators: ring, Site: site, Addresses: from, Shards: shards, Registry: a.registry, Version: version, Forks: f.pace.forks, Files: files, Say: a.say,
			}
			if p.verbose > 0 {
				w.Trace = a.say
			}
			var builds playbooks.Runner
			if err := f.addBuilds(&builds); err != nil {
				return err
			}
			w.Builds, w.FullBuilds, w.BuildID = builds.Builds, builds.FullBuilds, builds.BuildID
			if w.Queue, err = f.workers.queue(cmd.Context()); err != nil {
				return err
			}
			a.say("taking hosts" + ofSite(site) + "; this worker is " + own.Public())
			if len(from) == 0 {
				a.say("its certificates are valid from any address\n  hint: limit them to the address of this worker: --worker-address ADDRESS")
			}
			return w.Run(cmd.Context(), a.stop)
		},
	}
	c.AddCommand(workerJoinCommand(f, p))
	c.Flags().BoolVar(&show, "show", false, "print the files that the workers of this user on this machine hold now")
	c.Flags().StringVar(&site, "site", "", "take hosts whose variable site says this, and no others; without it those of no site")
	c.Flags().IntVar(&shards, "shards", 4, "how many groups of hosts (--shard) it works on at once")
	c.Flags().StringSliceVar(&addresses, "worker-address", nil, "`address` or network (CIDR) from which this worker, or its jump host, connects to hosts: its certificates are valid only from there; may be repeated, or have commas")
	c.Flags().StringVar(&key, "key", "", "private key `file` of this worker (default worker.key in the folder of the configuration)")
	c.Flags().StringVar(&coordinators, "coordinators", "", "`file` with the public keys of those who may begin runs (default coordinators.keys in the folder of the configuration)")
	return c
}

// showHeld prints the files that workers hold.
func showHeld(a *app) error {
	files, err := workers.Held(a.getenv("TMPDIR"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := fmt.Fprintln(a.out, printable.Line(file)); err != nil {
			return err
		}
	}
	return nil
}

// prefixes reads addresses and networks.
func prefixes(texts []string) (list []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := workers.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("--worker-address %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

func ofSite(site string) string {
	if site == "" {
		return ""
	}
	return fmt.Sprintf(" of the site %q", site)
}
