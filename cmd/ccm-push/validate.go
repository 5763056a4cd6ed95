package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

func validateCommand(p *plays, out *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "validate MANIFEST...",
		Short: "report all errors in manifests and the inventory; contact no host",
		Long: `ccm-push validate reports all errors in manifests, their files and templates, and the inventory. The
command contacts no host, so it does not check expressions that use facts (data about a host). With
--facts FILE, it also checks these expressions, and compiles each play for each of its hosts.

If there are errors, the exit status is 1. --output json prints each error and warning as a JSON
object on a line. --output github prints them as annotations of a pull request, --output gitlab as a
Code Quality report.`,
		Example: `  ccm-push -i hosts.yaml validate site.yaml
  ccm-push validate --output github site.yaml
  ccm-push validate --output gitlab site.yaml > gl-code-quality-report.json`,
		Args: arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.validate(cmd.Context(), out, args) },
	}
}

// validate reports all errors of manifests and the inventory.
func (p *plays) validate(ctx context.Context, out *output.Printer, paths []string) error {
	if err := p.fleet.flags.RefuseSelection("validate"); err != nil {
		return err
	}
	printProblems, forPrograms := problemFormats[out.Flags.Output.Format]
	if !forPrograms {
		return p.check(ctx, out, paths)
	}
	var warnings []string
	p.fleet.app.OnWarn = func(text string) { warnings = append(warnings, text) }
	err := p.check(ctx, out, paths)
	if _, said := errors.AsType[exit.Status](err); said {
		return err
	}
	printErr := printProblems(out, problemsOf(warnings, err))
	if printErr == nil && err != nil {
		return exit.Status(exit.Usage)
	}
	return printErr
}

// check prints the valid parts, or returns all errors.
func (p *plays) check(ctx context.Context, out *output.Printer, paths []string) error {
	f, a := p.fleet, p.fleet.app
	ctx, end := a.UntilStop(ctx)
	defer end()
	f.secrets.Closed = true
	r, broken := p.readAll(ctx, p.readStrictly, purpose{manifests: paths, validate: true})
	if r == nil {
		return broken
	}
	f.connection.MentionPasswords(&r.Connect)
	r.Connect.Warn = a.Warn
	err := r.Validate(ctx, broken, f.flags.Variables.Facts != "")
	if a.Stopped() {
		return exit.Status(exit.Interrupted)
	}
	if err != nil {
		return err
	}
	if err := p.tellWarnings(r.Plays); err != nil {
		return err
	}
	if out.Flags.Output.Format != "text" {
		return nil
	}
	return out.Print(summary(r.Plays) + "\n")
}

// readStrictly reads plays. With --strict their warnings are errors.
func (p *plays) readStrictly(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	list, err := p.read(ctx, paths)
	if p.fleet.flags.Mode.Strict {
		err = errors.Join(err, p.tellWarnings(list))
	}
	return list, err
}

// summary returns the number of valid plays and resources, as text.
func summary(plays []*manifest.Play) string {
	resources := 0
	for _, p := range plays {
		manifest.Walk(p.Resources, func(*manifest.Resource, int) { resources++ })
	}
	return fmt.Sprintf("valid: %s, %s", counted(len(plays), "play"), counted(resources, "resource"))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
