package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// trustHint says how to trust the key of a host of a run.
func (a *app) trustHint(r *playbooks.Runner) func(transport.Target, ssh.PublicKey) string {
	return func(t transport.Target, _ ssh.PublicKey) string {
		return "compare the fingerprint with what the host's console shows, then trust it: " + a.trustCall([]string{selectable(r, t)})
	}
}

// selectable is a host of the inventory by which trust comes to a target: itself,
// or for a jump host that is none a host behind it.
func selectable(r *playbooks.Runner, t transport.Target) string {
	if r.Inventory.Host(t.Host) != nil {
		return t.Host
	}
	for _, h := range r.Inventory.Hosts() {
		if r.Passes(h, t) {
			return h.Name
		}
	}
	return t.Host
}

// trustCall is a command line that trusts hosts. It has the flags of this one that
// say where they are and what is known of them.
func (a *app) trustCall(hosts []string) string {
	words := []string{"ccm-push"}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"-i", a.flags.inventory}, {"--known-hosts", a.flags.knownHosts}} {
		for _, value := range flag.values {
			words = append(words, flag.name, shellWord(value))
		}
	}
	return strings.Join(append(words, "trust", shellWord(nodeset.Fold(hosts))), " ")
}

// shellWord quotes text for a shell if it needs that.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,", r)
	}
	if text != "" && !slices.ContainsFunc([]rune(text), func(r rune) bool { return !plain(r) }) {
		return text
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `'\''`))
}
