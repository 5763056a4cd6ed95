package inventories

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// PrintHosts prints the hosts of a pattern, one a line.
func (f *Reader) PrintHosts(ctx context.Context, p *output.Printer, args []string) error {
	if len(args) != 1 {
		return errors.New("--list-hosts takes one pattern, or manifests")
	}
	if err := p.TextOnly("--list-hosts"); err != nil {
		return err
	}
	inv, err := f.Load(ctx)
	if err != nil {
		return err
	}
	hosts, err := f.SelectHosts(inv, args[0])
	if err != nil {
		return err
	}
	return p.Print(hostLines(hosts, ""))
}

// PrintPlayHosts prints the hosts of each play.
func PrintPlayHosts(r *playbooks.Runner, p *output.Printer) error {
	if err := p.TextOnly("--list-hosts"); err != nil {
		return err
	}
	lists, err := r.Select()
	if err != nil {
		return err
	}
	others, err := r.Delegates()
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, hosts := range lists {
		fmt.Fprintf(&b, "play %q, hosts %q (%d):\n", r.Plays[i].Name, r.Plays[i].HostPattern(), len(hosts))
		b.WriteString(hostLines(hosts, "  "))
		if len(others[i]) > 0 && len(hosts) > 0 {
			fmt.Fprintf(&b, "  resources of theirs run on:\n%s", hostLines(others[i], "  "))
		}
	}
	return p.Print(b.String())
}

// hostLines are names of hosts; nil is the controller.
func hostLines(hosts []*inventory.Host, indent string) string {
	var b strings.Builder
	for _, h := range hosts {
		name := manifest.Controller
		if h != nil {
			name = h.Name
		}
		b.WriteString(indent + name + "\n")
	}
	return b.String()
}
