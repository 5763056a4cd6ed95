package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func renderCommand(p *plays, out *printer) *cobra.Command {
	var with catalog.Shown
	c := &cobra.Command{
		Use:   "render MANIFEST... HOST",
		Short: "print the data and the resources that manifests come to on a host, and change nothing",
		Long: `render asks the host for the facts that the manifests mention, and prints the
resolved data and resources of each play that runs on it, as YAML. With --facts
FILE those stand for the facts of the host, and it is not contacted.

What sensitive resources are given is withheld, of a URL what may be a secret, and
of the data what is marked as one: in its place stands [secret]. --show-secrets
prints it all, to a terminal; what no play reads is not decrypted for that.`,
		Args:              atLeast(2),
		ValidArgsFunction: p.fleet.inventory.completeLastHost,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printRendered(cmd.Context(), p, out, args[:len(args)-1], args[len(args)-1], with)
		},
	}
	c.Flags().BoolVar(&with.Explain, "explain", false, "say in comments where each value comes from")
	c.Flags().BoolVar(&with.Secrets, "show-secrets", false, "print secrets as they are; to a terminal alone")
	return c
}

func printRendered(ctx context.Context, p *plays, out *printer, paths []string, name string, with catalog.Shown) error {
	if with.Secrets && !out.onTerminal() {
		return errors.New("--show-secrets prints to a terminal alone: a file or a pipe would keep the secrets")
	}
	rendered, err := p.render(ctx, out, "render", paths, name)
	if err != nil {
		return err
	}
	for _, play := range rendered {
		text, err := play.Rendered.YAML(fmt.Sprintf("play %s on %s", play.Play, name), with)
		if err != nil {
			return err
		}
		if err := out.print("---\n" + events.Block(string(text))); err != nil {
			return err
		}
	}
	return nil
}
