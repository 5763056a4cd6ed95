package debconf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A call is a program of debconf, and its input.
type call struct {
	argv  []string
	stdin string
}

// Check implements [modules.Resource].
func (d *Debconf) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	have, err := d.look(h)
	if err != nil {
		return modules.Plan{}, err
	}
	plan := modules.Plan{Changes: d.changes(have)}
	if len(plan.Changes) == 0 {
		return modules.Plan{}, nil
	}
	want := question{owners: have.owners, value: d.answer(), seen: d.seen(), password: d.Password != ""}
	if d.Ensure == absent {
		plan.Action = "removed the question"
		want = have
		want.owners = slices.DeleteFunc(slices.Clone(have.owners), func(owner string) bool { return owner == d.Package })
		plan.Steps = call{[]string{"debconf-communicate", d.Package}, "UNREGISTER " + d.Name + "\n"}
	} else {
		plan.Action = "answered the question"
		if d.owns(have) && have.value == want.value {
			plan.Action = map[bool]string{true: "marked the question as seen", false: "marked the question as not seen"}[want.seen]
		}
		if !d.owns(have) {
			want.owners = append(slices.Clone(have.owners), d.Package)
		}
		plan.Steps = call{[]string{"debconf-set-selections"}, d.selections(have)}
	}
	plan.Effects = append([]modules.Effect{{Kind: effect, Key: d.Name, State: want}}, modules.Differ(effect, answers, passwords)...)
	return modules.PlanIfPermitted(plan, h.Files.MayReplace(answers))
}

// changes are the differences. For a password, a change only shows whether it is the wanted one.
func (d *Debconf) changes(have question) []modules.Change {
	var all []modules.Change
	there := map[bool]string{true: present, false: absent}
	wanted := d.Ensure != absent
	if d.owns(have) != wanted {
		all = append(all, modules.Change{Property: "ensure", Have: there[!wanted], Want: there[wanted]})
	}
	if !wanted {
		return all
	}
	switch {
	case have.value == d.answer():
	case d.Password != "":
		all = append(all, modules.Change{Property: "password", Have: "another one", Want: "the given password"})
	default:
		all = append(all, modules.Change{Property: "value", Have: have.value, Want: d.Value})
	}
	if have.seen != d.seen() {
		all = append(all, modules.Change{Property: "seen", Have: strconv.FormatBool(have.seen), Want: strconv.FormatBool(d.seen())})
	}
	return all
}

// selections is the input of debconf-set-selections: the answer if it differs, and whether it was seen.
func (d *Debconf) selections(have question) string {
	var text strings.Builder
	if !d.owns(have) || have.value != d.answer() {
		fmt.Fprintf(&text, "%s %s %s %s\n", d.Package, d.Name, d.typ(), d.answer())
	}
	fmt.Fprintf(&text, "%s %s seen %t\n", d.Package, d.Name, d.seen())
	return text.String()
}

// timeout bounds a call of a program.
const timeout = time.Minute

// Apply implements [modules.Resource]. Another user of the database is waited for.
func (d *Debconf) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	c, ok := p.Steps.(call)
	if !ok {
		return errors.New("the plan is not one of debconf")
	}
	command := modules.Command{Argv: c.argv, Stdin: c.stdin, Timeout: timeout, Env: []string{"DEBIAN_FRONTEND=noninteractive", "DEBCONF_NOWARNINGS=yes"}}
	waiting, cancel := context.WithTimeout(ctx, d.wait())
	defer cancel()
	for {
		exit, err := h.Commands.Run(ctx, command)
		switch {
		case err != nil || exit.Code == 0:
			return err
		case !strings.Contains(exit.Stderr.Text, "is locked by another process"):
			said, _, _ := strings.Cut(strings.TrimSpace(exit.Stderr.Text), "\n")
			if d.Password != "" {
				said = strings.ReplaceAll(said, d.Password, "…")
			}
			return modules.Refuse("%s ended with exit code %d: %s", c.argv[0], exit.Code, said)
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return modules.Refuse("the database of debconf is in use by another process, and was not free within %v", d.wait())
		case <-time.After(time.Second):
		}
	}
}
