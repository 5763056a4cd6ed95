package remote

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/natsdata"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

func registrationCommand(f *links.NATS, p *output.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "registration",
		Short: "list, create and remove registrations of services in NATS",
		Long: `A registration contains the address and port of a network service, for example of a web server.
Registrations are stored in a stream of NATS; --registration names the stream. This command lists,
creates and removes registrations. A run also creates registrations: after it has applied a resource
with the property register_when_stable, it registers the service of the resource. In expressions,
the function registrations(…) returns registrations.`,
		Example: `  ccm-push registration init --max-age 1h
  ccm-push registration create production http web 192.0.2.3 8080 --ttl 10m
  ccm-push registration query
  ccm-push registration query production http web
  ccm-push registration watch production
  ccm-push registration rm production http web 192.0.2.3 8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(registrationInitCommand(f, p), registrationQueryCommand(f, p), registrationWatchCommand(f, p),
		registrationCreateCommand(f, p), registrationRemoveCommand(f, p))
	return c
}

// registryOf returns the registry that --registration names.
func registryOf(f *links.NATS) (natsdata.Registry, error) {
	if f.Flags.NATS.Registration == "" {
		return natsdata.Registry{}, fmt.Errorf("--%s is empty: it names the stream of NATS", flags.RegistrationFlag)
	}
	return natsdata.Registry{Store: f.Store(), Stream: f.Flags.NATS.Registration}, nil
}

// filtered returns the registry, and the cluster, protocol, service and address to query it for, from arguments.
func filtered(f *links.NATS, args []string) (r natsdata.Registry, of [4]string, err error) {
	copy(of[:], args)
	r, err = registryOf(f)
	return r, of, err
}

func registrationInitCommand(f *links.NATS, p *output.Printer) *cobra.Command {
	var replicas int
	var maxAge time.Duration
	c := &cobra.Command{
		Use:   "init",
		Short: "create the stream of registrations, or change its lifetime",
		Example: `  ccm-push registration init --max-age 1h
  ccm-push registration init --replicas 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := registryOf(f)
			if err == nil {
				err = r.Prepare(cmd.Context(), replicas, maxAge)
			}
			if err != nil {
				return err
			}
			return p.Print(fmt.Sprintf("the stream %s has registrations, for %s\n", r.Stream, maxAge))
		},
	}
	c.Flags().IntVar(&replicas, "replicas", 1, "number of servers that store the stream, 1 to 5")
	c.Flags().DurationVar(&maxAge, "max-age", time.Minute, "time after which a registration expires; must be longer than the time between two runs of the play that renews it")
	return c
}

func registrationQueryCommand(f *links.NATS, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "query [CLUSTER [PROTOCOL [SERVICE [ADDRESS]]]]",
		Short: "list registered services; * matches any word",
		Example: `  ccm-push registration query
  ccm-push registration query production http web`,
		Args: cobra.MaximumNArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, of, err := filtered(f, args)
			if err != nil {
				return err
			}
			list, err := r.Registered(cmd.Context(), of[0], of[1], of[2], of[3])
			if err != nil {
				return err
			}
			if p.JSON() {
				return output.PrintJSON(p, list...)
			}
			return printRegistrations(p, list)
		},
	}
}

func registrationWatchCommand(f *links.NATS, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "watch [CLUSTER [PROTOCOL [SERVICE [ADDRESS]]]]",
		Short: "print registered services and each change; * matches any word",
		Long: `ccm-push registration watch prints registered services, one per line. Then it prints each service
that is added, changed, removed or expired, until you press Ctrl-C. If a service is registered again
without a change, the command prints nothing.`,
		Example: `  ccm-push registration watch production`,
		Args:    cobra.MaximumNArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, of, err := filtered(f, args)
			if err != nil {
				return err
			}
			ctx, end := f.App.UntilStopSaying(cmd.Context(), "")
			defer end()
			err = r.Watch(ctx, of[0], of[1], of[2], of[3], func(c natsdata.Change) error {
				if p.JSON() {
					return output.PrintJSON(p, c)
				}
				text := events.Line(c.String())
				if c.Change == natsdata.Registered {
					text += fmt.Sprintf(", priority %d", c.Priority)
					if c.TTL != 0 {
						text += ", TTL " + c.TTL.String()
					}
				}
				return p.Print(fmt.Sprintf("%-10s  %s\n", c.Change, text))
			})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
}

func printRegistrations(p *output.Printer, list []registry.Registration) error {
	if len(list) == 0 {
		return p.Print("nothing is registered\n")
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLUSTER\tPROTOCOL\tSERVICE\tADDRESS\tPORT\tPRIORITY\tTTL")
	for _, r := range list {
		port := "-"
		if r.Port != nil {
			port = strconv.Itoa(*r.Port)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", events.Line(r.Cluster), events.Line(r.Protocol), events.Line(r.Service), events.Line(r.Address), port, r.Priority, r.TTL)
	}
	table.Flush()
	return p.Print(b.String())
}

func registrationCreateCommand(f *links.NATS, p *output.Printer) *cobra.Command {
	var priority int
	var ttl string
	var annotations map[string]string
	c := &cobra.Command{
		Use:   "create CLUSTER PROTOCOL SERVICE ADDRESS [PORT]",
		Short: "register a service",
		Long: `ccm-push registration create registers one service by hand, for example a service that no play
manages. If a registration with the same cluster, protocol, service, address and port already
exists, the command replaces this registration.`,
		Example: `  ccm-push registration create production http web 192.0.2.3 8080
  ccm-push registration create production http web 192.0.2.3 8080 --ttl never --annotation rack=b12`,
		Args: cobra.RangeArgs(4, 5),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry := map[string]any{"cluster": args[0], "protocol": args[1], "service": args[2], "address": args[3], "priority": int64(priority)}
			if len(args) == 5 {
				port, err := strconv.ParseUint(args[4], 10, 16)
				if err != nil {
					return errors.New("the port is a number up to 65535")
				}
				entry["port"] = int64(port)
			}
			if ttl != "" {
				entry["ttl"] = ttl
			}
			list, err := manifest.Registrations(yamlpos.From(&yamlpos.Node{File: "command line"}, []any{entry}))
			if err != nil {
				return err
			}
			list[0].Annotations = annotations
			r, err := registryOf(f)
			if err == nil {
				err = r.Register(cmd.Context(), list)
			}
			if err != nil {
				return err
			}
			return p.Print("registered: " + list[0].String() + "\n")
		},
	}
	c.Flags().IntVar(&priority, "priority", 100, "1 to 255; the lowest is first")
	c.Flags().StringVar(&ttl, "ttl", "30s", "lifetime of the registration: a duration such as 30s or 2d, or the word never; '' means the maximum age that the NATS stream sets")
	c.Flags().StringToStringVar(&annotations, "annotation", nil, "`key=value` to store with the registration; may be repeated")
	return c
}

func registrationRemoveCommand(f *links.NATS, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:     "rm CLUSTER PROTOCOL SERVICE ADDRESS [PORT]",
		Short:   "remove the registration of a service",
		Example: `  ccm-push registration rm production http web 192.0.2.3 8080`,
		Args:    cobra.RangeArgs(4, 5),
		RunE: func(cmd *cobra.Command, args []string) error {
			one := registry.Registration{Cluster: args[0], Protocol: args[1], Service: args[2], Address: args[3]}
			if len(args) == 5 {
				port, err := strconv.ParseUint(args[4], 10, 16)
				if err != nil {
					return errors.New("the port is a number up to 65535")
				}
				number := int(port)
				one.Port = &number
			}
			r, err := registryOf(f)
			if err == nil {
				err = r.Remove(cmd.Context(), one)
			}
			if err != nil {
				return err
			}
			return p.Print("not registered any more: " + one.String() + "\n")
		},
	}
}
