package remote

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

func workerCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	var site, key, coordinators string
	var addresses []string
	var shards int
	var show bool
	c := &cobra.Command{
		Use:   "worker --workers URL",
		Short: "apply plays to hosts for other machines",
		Long: `ccm-push worker makes this machine a worker, until you press Ctrl-C. If another machine starts a run
with --workers and the same URL, the worker applies the plays to some of the hosts. The other
machine prints the results.

The worker and the machine that starts runs each have a permanent key (--key here, --workers-key
there). Create each key with ssh-keygen -t ed25519, without a passphrase. The worker accepts runs
only if its file coordinators.keys (--coordinators) contains the public key of the other machine. On
the other machine, workers.keys must contain the public key of the worker.

For each run, the worker also creates a temporary key. The machine that starts the run sends the
files of the plays and the inventory of the worker's hosts, encrypted for this key. It also sends
certificates for the key, with which the worker logs in to hosts.

After Ctrl-C, resources in progress finish, and other workers take the remaining hosts. With -v, the
worker prints a line when it takes hosts of a run, and when they have finished.`,
		Example: `  ccm-push worker --workers tls://nats.example.com:4222
  ccm-push worker --workers tls://nats.example.com:4222 --site paris`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := f.App
			if shards < 1 {
				return fmt.Errorf("--shards %d: at least 1", shards)
			}
			if show {
				return showHeld(a)
			}
			if f.Flags.Workers.URL == "" {
				return errNoWorkersURL
			}
			own, err := keyring.ReadKey(cmp.Or(key, a.Configuration(links.WorkerKey)))
			if err != nil {
				return fmt.Errorf("the key of this worker: %w", err)
			}
			ring, err := keyring.OpenKeyFile(cmp.Or(coordinators, a.Configuration(links.CoordinatorsList)), a.Say)
			if err != nil {
				return fmt.Errorf("the keys of coordinators: %w", err)
			}
			from, err := prefixes(addresses)
			if err != nil {
				return err
			}
			files, _ := f.Flags.Pace.Affordable(a.Warn)
			w := &workers.Worker{
				Key: own, Coordinators: ring, Site: site, Addresses: from, Shards: shards, Registry: a.Registry, Version: a.Version, Forks: f.Flags.Pace.Forks, Files: files, Say: a.Say,
			}
			if p.Flags.Output.Verbose > 0 {
				w.Trace = a.Say
			}
			var builds playbooks.Runner
			if err := f.AddBuilds(&builds); err != nil {
				return err
			}
			w.Builds, w.FullBuilds, w.BuildID = builds.Builds, builds.FullBuilds, builds.BuildID
			if w.Queue, err = f.Workers.Queue(cmd.Context()); err != nil {
				return err
			}
			a.Say("taking hosts" + ofSite(site) + "; this worker is " + own.Public())
			if len(from) == 0 {
				a.Say("its certificates are valid from any address\n  hint: limit them to the address of this worker: --worker-address ADDRESS")
			}
			return w.Run(cmd.Context(), a.Stop)
		},
	}
	c.AddCommand(workerJoinCommand(f, p))
	c.Flags().BoolVar(&show, "show", false, "print the files that this user's workers hold on this machine")
	c.Flags().StringVar(&site, "site", "", "process only hosts whose inventory variable \"site\" has this value, such as paris (default: hosts without a site)")
	c.Flags().IntVar(&shards, "shards", 4, "maximum number of host groups (--shard) in progress")
	c.Flags().StringSliceVar(&addresses, "worker-address", nil, "`address` or network (CIDR) from which this worker, or its jump host, connects to hosts; the certificates of the worker are valid only from this address; may be repeated, or contain several addresses with commas")
	c.Flags().StringVar(&key, "key", "", "private key `file` of this worker (default ~/.config/ccm-push/worker.key)")
	c.Flags().StringVar(&coordinators, "coordinators", "", "`file` with the public keys of machines that may start runs (default ~/.config/ccm-push/coordinators.keys)")
	return c
}

// showHeld prints the files that workers hold.
func showHeld(a *app.App) error {
	files, err := workers.Held(a.Getenv("TMPDIR"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := fmt.Fprintln(a.Out, printable.Line(file)); err != nil {
			return err
		}
	}
	return nil
}

// prefixes reads addresses and networks.
func prefixes(texts []string) (list []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := keyring.ParseAddress(text)
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
