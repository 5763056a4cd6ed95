package manifests

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func renderCommand(p *fleet.Plays, out *output.Printer) *cobra.Command {
	var with catalog.Shown
	c := &cobra.Command{
		Use:   "render MANIFEST... HOST",
		Short: "print the data and resources that a host would get; change nothing",
		Long: `ccm-push render prints the data and resources that a host would get, as YAML. The command queries
the host for the facts (data about the host) that the manifests use. With --facts FILE, it reads the
facts from the file and contacts no host.

ccm-push prints [secret] instead of each secret: properties of sensitive resources, secrets in URLs,
and data that is marked as secret. With --show-secrets, ccm-push prints secrets in clear text, but
only on a terminal. ccm-push decrypts only secrets that a play uses.`,
		Example: `  ccm-push render site.yaml web1
  ccm-push render site.yaml web1 --explain
  ccm-push render site.yaml web1 --facts facts.json`,
		Args:              arguments.AtLeast(2),
		ValidArgsFunction: p.Fleet.Inventory.CompleteLastHost,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printRendered(cmd.Context(), p, out, args[:len(args)-1], args[len(args)-1], with)
		},
	}
	c.Flags().BoolVar(&with.Explain, "explain", false, "add comments with the source of each value")
	c.Flags().BoolVar(&with.Secrets, "show-secrets", false, "print secrets in clear; only to a terminal")
	return c
}

func printRendered(ctx context.Context, p *fleet.Plays, out *output.Printer, paths []string, name string, with catalog.Shown) error {
	if with.Secrets && !out.OnTerminal() {
		return errors.New("--show-secrets prints only to a terminal, because a file or a pipe would keep the secrets")
	}
	rendered, err := p.Render(ctx, out, "render", paths, name)
	if err != nil {
		return err
	}
	for _, play := range rendered {
		text, err := play.Rendered.YAML(fmt.Sprintf("play %s on %s", play.Play, name), with)
		if err != nil {
			return err
		}
		if err := out.Print("---\n" + events.Block(string(text))); err != nil {
			return err
		}
	}
	return nil
}
