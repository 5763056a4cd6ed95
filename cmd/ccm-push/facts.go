package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
)

func (a *app) factsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "facts PATTERN [PATH]",
		Short: "print what is true of hosts, or what stands at a path such as host.info.platform",
		Args:  cobra.MatchAll(atLeast(1), cobra.MaximumNArgs(2)),

		ValidArgsFunction: a.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.flags.listHosts {
				return a.listPattern(cmd.Context(), args[:1])
			}
			return a.facts(cmd.Context(), args[0], args[1:])
		},
	}
}

// facts asks the hosts of a pattern for their facts, or those at one path, and
// prints each answer as it comes.
func (a *app) facts(ctx context.Context, pattern string, paths []string) error {
	r, hosts, err := a.runnerFor(ctx, pattern)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := a.addBuilds(r); err != nil {
		return err
	}
	if err := a.credentials(ctx, r, hosts); err != nil {
		return err
	}
	a.tellProblems(r)
	ctx, end := a.untilStop(ctx)
	defer end()
	var printErr error
	r.Facts(ctx, hosts, paths, func(f playbooks.HostFacts) {
		if ctx.Err() == nil {
			printErr = errors.Join(printErr, a.printHost(r.Events, f, strings.Join(paths, "")))
		}
	})
	if printErr != nil {
		return printErr
	}
	return a.status(r.Tally.Summary(ctx.Err() != nil))
}

// stopped reports whether Ctrl-C has been pressed.
func (a *app) stopped() bool {
	select {
	case <-a.stop:
		return true
	default:
		return false
	}
}

// untilStop gives a context that ends with the first Ctrl-C, for what can be
// broken off at any time.
func (a *app) untilStop(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-a.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		waiting.Wait()
	}
}

// printHost prints the answer of one host. Why there is none goes to problems.
func (a *app) printHost(problems *events.Stream, f playbooks.HostFacts, path string) error {
	if f.Err != nil {
		problems.Report(f.Err)
		return nil
	}
	value, err := factAt(f.Facts, path)
	if err != nil {
		problems.Report(noFact(f, path, err))
		return nil
	}
	text, err := a.factsText(f.Host, value)
	if err != nil {
		return fmt.Errorf("the facts of %s: %w", f.Host, err)
	}
	return a.print(text)
}

// noFact says what paths there are in place of one that leads nowhere. Of a host
// that was asked for its custom facts only, the others are known by name.
func noFact(f playbooks.HostFacts, path string, err error) events.HostFailed {
	e := events.HostFailed{Host: f.Host, Phase: "facts", Error: err.Error(), Hint: "write keys with dots between them, as in host.info.platform"}
	if te, ok := errors.AsType[*templates.Error](err); ok {
		e.Error, e.Hint = te.Msg, cmp.Or(te.Hint, e.Hint)
	}
	first, _, _ := strings.Cut(path, ".")
	if _, found := f.Facts[first]; found || slices.Contains(facts.Names(), first) {
		return e
	}
	names := slices.Concat(facts.Names(), slices.Sorted(maps.Keys(f.Facts)))
	if meant := yamlpos.Suggest(first, names); meant != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", meant)
	} else if first != "" {
		e.Hint = "a path begins with " + strings.Join(names[:min(len(names), maxNames)], ", ") + ", or a key of the host's own facts files"
	}
	return e
}

// maxNames is how many names a hint lists: a host may have any number.
const maxNames = 20

func factAt(facts map[string]any, path string) (any, error) {
	if path == "" {
		return facts, nil
	}
	return templates.Lookup(facts, path)
}

// factsText is one line of JSON with --output json. Otherwise it is what people
// can read: "host: value" for a plain value, indented JSON for the rest.
func (a *app) factsText(host string, value any) (string, error) {
	if a.flags.output == "json" {
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
