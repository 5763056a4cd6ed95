package playbooks

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport/start"
)

// Sudoers returns the sudoers rules with which the login users of hosts can run the host program as another user: one
// rule for each pair of users, below a comment with its hosts.
func (r *Runner) Sudoers(hosts []*inventory.Host) (string, error) {
	var rules []string
	names := map[string][]string{} // of hosts, by rule
	for _, h := range hosts {
		login, b := r.escalation(h)
		rule, err := start.SudoersRule(login, b)
		if err != nil {
			return "", fmt.Errorf("%s: %w", h.Name, err)
		}
		if names[rule] == nil {
			rules = append(rules, rule)
		}
		names[rule] = append(names[rule], h.Name)
	}
	var text strings.Builder
	for _, rule := range rules {
		fmt.Fprintf(&text, "# %s: for ccm-push %s. A user with this rule has all rights of %s.\n%s\n", pattern.Fold(names[rule]), r.Options.Version, runAs(rule), rule)
	}
	return text.String(), nil
}

// runAs is the user whom a rule lets the login user become.
func runAs(rule string) string {
	_, rest, _ := strings.Cut(rule, "(")
	user, _, _ := strings.Cut(rest, ")")
	return user
}

// escalation returns the login user of a host, and how the user becomes another one: root through sudo by default.
func (r *Runner) escalation(h *inventory.Host) (login string, b *start.Become) {
	conn := h.Connection()
	c := r.Connect
	c.Become = true
	return c.Login(conn), c.Escalate(reach.Escalation{}, conn)
}
