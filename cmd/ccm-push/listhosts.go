package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
)

// printHosts prints the hosts of a pattern, one a line.
func (f *inventoryFlags) printHosts(ctx context.Context, p *printer, args []string) error {
	if len(args) != 1 {
		return errors.New("--list-hosts takes one pattern, or manifests")
	}
	if err := p.textOnly("--list-hosts"); err != nil {
		return err
	}
	inv, err := f.load(ctx)
	if err != nil {
		return err
	}
	hosts, err := f.selectHosts(inv, args[0])
	if err != nil {
		return err
	}
	return p.print(hostLines(hosts, ""))
}

// printPlayHosts prints the hosts of each play.
func printPlayHosts(r *playbooks.Runner, p *printer) error {
	if err := p.textOnly("--list-hosts"); err != nil {
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
	return p.print(b.String())
}

func hostLines(hosts []*inventory.Host, indent string) string {
	var b strings.Builder
	for _, h := range hosts {
		b.WriteString(indent + h.Name + "\n")
	}
	return b.String()
}
