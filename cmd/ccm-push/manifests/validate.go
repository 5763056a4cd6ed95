package manifests

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

func validateCommand(p *fleet.Plays, out *output.Printer) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, args []string) error { return validate(cmd.Context(), p, out, args) },
	}
}

// validate reports all errors of manifests and the inventory.
func validate(ctx context.Context, p *fleet.Plays, out *output.Printer, paths []string) error {
	if err := p.Fleet.Flags.RefuseSelection("validate"); err != nil {
		return err
	}
	printProblems, forPrograms := problemFormats[out.Flags.Output.Format]
	if !forPrograms {
		return check(ctx, p, out, paths)
	}
	var warnings []string
	p.Fleet.App.OnWarn = func(text string) { warnings = append(warnings, text) }
	err := check(ctx, p, out, paths)
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
func check(ctx context.Context, p *fleet.Plays, out *output.Printer, paths []string) error {
	f, a := p.Fleet, p.Fleet.App
	ctx, end := a.UntilStop(ctx)
	defer end()
	f.Secrets.Closed = true
	r, broken := p.ReadAll(ctx, p.ReadStrictly, fleet.Purpose{Manifests: paths, Validate: true})
	if r == nil {
		return broken
	}
	f.Connection.MentionPasswords(&r.Connect)
	r.Connect.Warn = a.Warn
	err := r.Validate(ctx, broken, f.Flags.Variables.Facts != "")
	if a.Stopped() {
		return exit.Status(exit.Interrupted)
	}
	if err != nil {
		return err
	}
	if err := p.TellWarnings(r.Plays); err != nil {
		return err
	}
	if out.Flags.Output.Format != "text" {
		return nil
	}
	return out.Print(summary(r.Plays) + "\n")
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
