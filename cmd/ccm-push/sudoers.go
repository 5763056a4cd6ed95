package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/transport/start"
)

func (a *app) sudoersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sudoers PATTERN",
		Short: "print the sudoers rule that lets ccm-push become another user, and nothing else",
		Long: `sudoers prints, for the hosts of a pattern, the narrowest sudoers(5) rule with which
the login user can run this ccm-push as root, or as the --become-user, without a
password. It contacts no host. Another version of ccm-push may want another rule.

The rule allows one constant script, which installs the host program and starts it.
That program does whatever it is told: whoever may run it is root. What the rule is
good for is that sudo's log shows nothing else.`,
		Args:              onePattern,
		ValidArgsFunction: a.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.flags.listHosts {
				return a.listPattern(cmd.Context(), args)
			}
			return a.sudoers(cmd.Context(), args[0])
		},
	}
}

// sudoers prints a rule for each pair of users among the hosts of a pattern.
func (a *app) sudoers(ctx context.Context, selection string) error {
	if err := a.flags.textOnly("sudoers"); err != nil {
		return err
	}
	r, hosts, err := a.runnerFor(ctx, selection)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := r.CheckReach(hosts); err != nil { // of whom it might not be known who logs in
		return err
	}
	var rules []string
	users := map[string][]*inventory.Host{}
	for _, h := range hosts {
		login, b := r.Escalation(h)
		rule, err := start.SudoersRule(login, b)
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		if users[rule] == nil {
			rules = append(rules, rule)
		}
		users[rule] = append(users[rule], h)
	}
	var text strings.Builder
	for _, rule := range rules {
		var names []string
		for _, h := range users[rule] {
			names = append(names, h.Name)
		}
		fmt.Fprintf(&text, "# %s: for ccm-push %s. Whoever may run this is %s.\n%s\n", pattern.Fold(names), version, asWhom(rule), rule)
	}
	return a.print(text.String())
}

// asWhom is the user that a rule is about.
func asWhom(rule string) string {
	_, rest, _ := strings.Cut(rule, "(")
	user, _, _ := strings.Cut(rest, ")")
	return user
}
