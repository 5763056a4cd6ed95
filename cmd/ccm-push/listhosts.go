package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
)

// listPattern prints the hosts of a pattern, one a line.
func (a *app) listPattern(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("--list-hosts takes one pattern, or manifests")
	}
	if err := a.flags.textOnly("--list-hosts"); err != nil {
		return err
	}
	inv, err := a.loadInventory(ctx)
	if err != nil {
		return err
	}
	hosts, err := a.selectHosts(inv, args[0])
	if err != nil {
		return err
	}
	return a.print(hostLines(hosts, ""))
}

// selectHosts gives the hosts of a pattern within --limit.
func (a *app) selectHosts(inv *inventory.Inventory, pattern string) ([]*inventory.Host, error) {
	return playbooks.SelectHosts(inv, pattern, a.flags.limit, a.warn)
}

// listPlays prints the hosts of each play.
func (a *app) listPlays(r *playbooks.Runner) error {
	if err := a.flags.textOnly("--list-hosts"); err != nil {
		return err
	}
	lists, err := r.Select()
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, hosts := range lists {
		fmt.Fprintf(&b, "play %q, hosts %q (%d):\n", r.Plays[i].Name, r.Plays[i].HostPattern(), len(hosts))
		b.WriteString(hostLines(hosts, "  "))
	}
	return a.print(b.String())
}

func hostLines(hosts []*inventory.Host, indent string) string {
	var b strings.Builder
	for _, h := range hosts {
		b.WriteString(indent + h.Name + "\n")
	}
	return b.String()
}
