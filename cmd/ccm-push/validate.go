package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate MANIFEST...",
		Short: "report everything that is wrong with manifests and the inventory, and contact no host",
		Long: `validate reads manifests, the files and templates that they name and, if there is
one, the inventory, and reports all errors at once. What depends on the facts of
a host is checked too if --facts FILE gives some: then each play is made ready
for each of its hosts.`,
		Args: atLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.validate(cmd.Context(), args) },
	}
}

func (a *app) validate(ctx context.Context, paths []string) error {
	if err := errors.Join(a.flags.wholly("validate"), a.flags.textOnly("validate")); err != nil {
		return err
	}
	ctx, end := a.untilStop(ctx)
	defer end()
	plays, playErr := a.read(ctx, paths)
	inv, invErr := a.inventoryIfAny(ctx, paths)
	options, optionsErr := a.catalogOptions()
	hiera, hieraErr := extravars.ReadHiera(ctx, a.flags.hiera, a.getenv(extravars.HieraVariable), a.warn)
	account, accountErr := user.Current()
	if accountErr != nil {
		return fmt.Errorf("finding out who runs this: %w", accountErr)
	}
	connect, connectErr := a.connect(account)
	a.mentionPasswords(&connect)
	connect.Warn = a.warn
	var strictErr error
	if a.flags.warningsAreErrors {
		strictErr = a.tellWarnings(plays)
	}
	broken := errors.Join(playErr, strictErr, invErr, optionsErr, hieraErr, connectErr)
	options.Hiera = hiera
	r := &playbooks.Runner{
		Inventory: inv,
		Plays:     plays,
		Connect:   connect,
		Options:   playbooks.Options{Limit: a.flags.limit, Catalog: options, Strict: a.flags.warningsAreErrors},
	}
	err := r.Validate(ctx, broken, a.flags.facts != "")
	if a.stopped() {
		return exitStatus(interruptedStatus)
	}
	if err != nil {
		return err
	}
	if err := a.tellWarnings(plays); err != nil {
		return err
	}
	return a.print(summary(plays) + "\n")
}

// inventoryIfAny reads the inventory, which need not exist unless it is named.
func (a *app) inventoryIfAny(ctx context.Context, manifests []string) (*inventory.Inventory, error) {
	if len(a.flags.inventory) == 0 {
		_, err := a.defaultInventory()
		if errors.Is(err, errNoInventory) {
			return nil, nil
		}
	}
	return a.loadInventory(ctx, manifests...)
}

// summary says what was found to be valid.
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
