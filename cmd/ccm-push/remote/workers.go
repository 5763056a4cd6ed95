package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers"
)

func workersCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "workers --workers URL",
		Short: "list the workers that are connected, or were lost in the last day",
		Long: `ccm-push workers lists the workers that sent a message to this machine in the last day. Each line
has the name from workers.keys, the site, the number of hosts in progress, the version, the machine,
and the time of the last message. A worker takes hosts in groups. LOAD 2/8 means: the worker has 2
groups, and can have up to 8 groups. A worker sends a message every 10 seconds. After 30 seconds
without a message, it counts as lost.

If the key of a worker is not in workers.keys, the line has the fingerprint of the key instead of a
name. A worker refuses this machine if the file coordinators.keys of the worker does not contain the
key of this machine. The command prints only the number of these workers.`,
		Example: `  ccm-push workers --workers tls://nats.example.com:4222
  ccm-push workers -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Flags.Workers.URL == "" {
				return errNoWorkersURL
			}
			key, list, err := f.Workers.Keys()
			if err != nil {
				return err
			}
			q, err := f.Workers.Queue(cmd.Context())
			if err != nil {
				return err
			}
			all, unreadable, err := workers.Present(cmd.Context(), q, key, list.Ring())
			if err != nil {
				return err
			}
			if unreadable > 0 {
				f.App.Warn(fmt.Sprintf("%d connected workers do not accept runs of this machine\n  hint: add the public key of this machine to the file coordinators.keys of these workers: %s", unreadable, key.Public()))
			}
			if p.JSON() {
				return output.PrintJSON(p, all...)
			}
			return printWorkers(p, all)
		},
	}
	c.AddCommand(workersInviteCommand(f, p))
	return c
}

var errNoWorkersURL = errors.New("neither --workers nor CCM_PUSH_WORKERS is set: pass --workers with the NATS URL of the workers, such as tls://nats.example.com:4222")

func printWorkers(p *output.Printer, all []workers.Connected) error {
	if len(all) == 0 {
		return p.Print("no worker is connected\n")
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSITE\tSTATE\tHOSTS\tLOAD\tVERSION\tMACHINE\tLAST HEARD")
	for _, w := range all {
		state := "connected"
		switch {
		case w.Lost:
			state = "lost"
		case !w.Listed:
			state = "not in workers.keys"
		case w.Refused:
			state = "site not in workers.keys"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d/%d\t%s\t%s\t%s\n", events.Line(w.Name), events.Line(cmp.Or(w.Site, "(none)")), state, w.Hosts, w.Busy, w.Capacity,
			events.Line(w.Version), events.Line(fmt.Sprintf("%s (pid %d)", w.Host, w.PID)), ago(time.Since(w.Heard)))
	}
	table.Flush()
	return p.Print(b.String())
}

// ago formats the time that has passed, in one unit.
func ago(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	}
	return fmt.Sprintf("%dh ago", d/time.Hour)
}
