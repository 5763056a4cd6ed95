package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func (a *app) renderCommand() *cobra.Command {
	var explain bool
	c := &cobra.Command{
		Use:   "render MANIFEST... HOST",
		Short: "print the data and the resources that manifests come to on a host, and change nothing",
		Long: `render asks the host for the facts that the manifests mention, and prints the
resolved data and resources of each play that runs on it, as YAML. With --facts
FILE those stand for the facts of the host, and it is not contacted.

What sensitive resources are given is withheld, and of a URL what may be a secret.
The data is printed as it is.`,
		Args:              atLeast(2),
		ValidArgsFunction: a.completeRender,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.render(cmd.Context(), args[:len(args)-1], args[len(args)-1], explain)
		},
	}
	c.Flags().BoolVar(&explain, "explain", false, "say in comments where each value comes from")
	return c
}

func (a *app) render(ctx context.Context, paths []string, name string, explain bool) error {
	plays, err := a.renderPlays(ctx, "render", paths, name)
	if err != nil {
		return err
	}
	for _, p := range plays {
		text, err := p.YAML(fmt.Sprintf("play %s on %s", p.Play, name), explain)
		if err != nil {
			return err
		}
		if err := a.print("---\n" + events.Block(string(text))); err != nil {
			return err
		}
	}
	return nil
}

// hostFailed tells of the one host that a command is about, and gives its exit
// status.
func (a *app) hostFailed(r *playbooks.Runner, e events.Event) error {
	tally := &events.Tally{}
	events.NewStream(r.Options.Run, time.Now, tally, events.NewText(a.err, events.TextOptions{})).Report(e)
	return a.status(tally.Summary(false))
}
