package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/playbooks"
)

// A watchCall is a call of ccm-push watch.
type watchCall struct {
	plays   *plays
	printer *printer
}

func watchCommand(pl *plays, p *printer) *cobra.Command {
	w := &watchCall{plays: pl, printer: p}
	return &cobra.Command{
		Use:   "watch MANIFEST...",
		Short: "apply manifests, and from then on tell what drifts",
		Long: `watch applies manifests as any run does, and then keeps one session per host open. The host
listens to what its resources are about, checks what may have changed, and tells what is not as it
should be any more. With --check nothing is applied.

Ctrl-C ends it; nothing stays behind on the hosts.`,
		Example: `  ccm-push watch -i hosts.yaml site.yaml
  ccm-push watch -i hosts.yaml --check -l 'web*' site.yaml`,
		Args: atLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args) },
	}
}

func (w *watchCall) run(ctx context.Context, paths []string) error {
	pl := w.plays
	switch {
	case pl.fleet.mode.step:
		return errors.New("--step asks before something is done, and watch goes on without anybody")
	case pl.selection.list, pl.fleet.inventory.listHosts:
		return pl.apply(ctx, w.printer, paths)
	}
	r, err := pl.runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Options.Watch = &playbooks.Watch{}
	return pl.run(ctx, r, w.printer, header("watch", paths, r.Plays))
}
