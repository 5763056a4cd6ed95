package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func factsCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "facts PATTERN [PATH]",
		Short: "print the facts of hosts, or the fact at a path such as host.info.platform",
		Example: `  ccm-push facts web1
  ccm-push facts 'web*' host.info.platform
  ccm-push -o json facts all > facts.json`,
		Args: cobra.MatchAll(arguments.AtLeast(1), cobra.MaximumNArgs(2)),

		ValidArgsFunction: f.Inventory.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Flags.Inventory.ListHosts {
				return f.Inventory.PrintHosts(cmd.Context(), p, args[:1])
			}
			return printFacts(cmd.Context(), f, p, args[0], args[1:])
		},
	}
}

// printFacts queries the hosts of a pattern for their facts, or the facts at some paths, and prints each answer as it
// arrives.
func printFacts(ctx context.Context, f *fleet.Fleet, p *output.Printer, pattern string, paths []string) error {
	r, hosts, err := f.RunnerFor(ctx, pattern, fleet.Purpose{})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := f.AddBuilds(r); err != nil {
		return err
	}
	p.TellProblems(r)
	done, err := f.ReachHosts(ctx, r, hosts)
	if err != nil {
		return err
	}
	defer done()
	ctx, end := f.App.UntilStop(ctx)
	defer end()
	var printErr error
	r.Facts(ctx, hosts, paths, func(answer playbooks.HostFacts) {
		if ctx.Err() != nil {
			return
		}
		value, problem := answer.At(strings.Join(paths, ""))
		if problem != nil {
			r.Events.Report(problem)
			return
		}
		text, err := factsText(answer.Host, value, p.JSON())
		if err == nil {
			err = p.Print(text)
		} else {
			err = fmt.Errorf("the facts of %s: %w", answer.Host, err)
		}
		printErr = errors.Join(printErr, err)
	})
	if printErr != nil {
		return printErr
	}
	return p.Status(r.Tally.Summary(ctx.Err() != nil))
}

// factsText returns one line of JSON, or text for people: "host: value" for a plain value, and indented JSON for others.
func factsText(host string, value any, oneLine bool) (string, error) {
	if oneLine {
		line, err := events.Encode(map[string]any{"host": host, "facts": value})
		return string(line) + "\n", err
	}
	switch value.(type) {
	case map[string]any, []any:
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(value)
		return host + ": " + events.Block(text.String()), err
	}
	return host + ": " + events.Line(fmt.Sprint(value)) + "\n", nil
}
