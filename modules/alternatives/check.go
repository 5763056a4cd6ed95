package alternatives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Check implements [modules.Resource].
func (a *Alternatives) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	have, err := a.look(h)
	if err != nil {
		return modules.Plan{}, err
	}
	calls, err := a.calls(h.Files, have)
	if err != nil || len(calls) == 0 {
		return modules.Plan{}, err
	}
	want := have
	for _, c := range calls {
		want = want.after(c)
	}
	dir, err := database(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	plan := modules.Plan{Action: a.action(have, want), Changes: a.changes(have, want), Effects: a.effects(dir, have, want), Steps: calls}
	return modules.PlanIfPermitted(plan, h.Files.MayReplace(path.Join(dir, a.Name)), h.Files.MayReplace(a.chosen()))
}

// calls are the calls of the program that reach the desired state.
func (a *Alternatives) calls(files modules.FileReader, have group) ([]call, error) {
	is, known := have.find(a.Path)
	restored := a.Restore != nil
	switch {
	case restored && !a.Restore.Known, !restored && a.Ensure == absent:
		var all []call
		if known {
			all = append(all, call{"--remove", a.Name, a.Path})
		}
		return a.choose(all, have)
	case a.Path == "":
		if len(have.choices) == 0 {
			return nil, modules.Refuse(`%s has no alternatives on this host; install one, or write "path" and "link"`, a.Name)
		}
		return a.choose(nil, have)
	}
	link, priority, slaves := cmp.Or(a.Link, have.link), is.priority, is.slaves
	switch {
	case restored:
		priority, slaves = a.Restore.Priority, a.Restore.Slaves
	case a.Priority != nil:
		priority = *a.Priority
	case !known:
		priority = defaultPriority
	}
	if known && link == have.link && priority == is.priority {
		return a.choose(nil, have)
	}
	if link == "" {
		return nil, modules.Refuse(`the name %s has no alternatives on this host yet, and %s is the first: set the property "link", such as link: /usr/bin/%s`, a.Name, a.Path, a.Name)
	}
	if _, err := modules.Follow(files, a.Path); modules.NotThere(err) {
		return nil, modules.Refuse("the file %s does not exist on this host, so it cannot be an alternative of %s", a.Path, a.Name)
	} else if err != nil {
		return nil, modules.PermissionRefusal(err)
	}
	install := call{"--install", link, a.Name, a.Path, strconv.Itoa(priority)}
	for _, s := range slaves { // the program forgets slaves that the call does not name
		install = append(install, "--slave", s.Link, s.Name, s.Path)
	}
	return a.choose([]call{install}, have)
}

// choose appends the call that makes the choice.
func (a *Alternatives) choose(calls []call, have group) ([]call, error) {
	now := have
	for _, c := range calls {
		now = now.after(c)
	}
	byHand, wanted := a.Ensure == selected, a.Path
	if a.Restore != nil {
		byHand, wanted = a.Restore.Manual, a.Restore.Selected
	}
	switch {
	case len(now.choices) == 0, a.Restore == nil && (a.Ensure == present || a.Ensure == absent):
	case byHand && (!now.manual || now.selected != wanted):
		calls = append(calls, call{"--set", a.Name, wanted})
	case !byHand && (now.manual || now.selected != now.best()):
		calls = append(calls, call{"--auto", a.Name})
	}
	return calls, nil
}

func (a *Alternatives) action(have, want group) string {
	_, was := have.find(a.Path)
	_, is := want.find(a.Path)
	var parts []string
	add := func(done bool, text string) {
		if done {
			parts = append(parts, text)
		}
	}
	add(!was && is, "added the alternative")
	add(was && !is, "removed the alternative")
	add(want.selected != have.selected && want.selected != "", "chose "+want.selected)
	add(len(parts) == 0 || len(parts) == 1 && was == is && want.manual != have.manual && want.selected == have.selected, "updated the alternative")
	return strings.Join(parts, ". ")
}

// changes are the differences.
func (a *Alternatives) changes(have, want group) []modules.Change {
	var all []modules.Change
	add := func(property, was, is string) {
		if was != is {
			all = append(all, modules.Change{Property: property, Have: was, Want: is})
		}
	}
	was, known := have.find(a.Path)
	is, stays := want.find(a.Path)
	there := map[bool]string{true: present, false: absent}
	add("ensure", there[known], there[stays])
	if known && stays {
		add("priority", fmt.Sprint(was.priority), fmt.Sprint(is.priority))
		add("link", have.link, want.link)
	}
	add("selected", cmp.Or(have.selected, "none"), cmp.Or(want.selected, "none"))
	if len(have.choices) > 0 && len(want.choices) > 0 {
		mode := map[bool]string{true: "manual", false: auto}
		add("mode", mode[have.manual], mode[want.manual])
	}
	return all
}

// effects are the predicted links, and the predicted state of the program's file.
func (a *Alternatives) effects(dir string, have, want group) []modules.Effect {
	all := []modules.Effect{{Kind: effect, Key: a.Name, State: want}}
	link := func(at, target string) {
		is := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}
		if target != "" {
			is = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Symlink, Target: target}, Partial: true}
		}
		all = append(all, modules.Effect{Kind: modules.PathEffect, Key: at, State: is})
	}
	kept := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true}
	if len(want.choices) == 0 {
		kept = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}
	}
	all = append(all, modules.Effect{Kind: modules.PathEffect, Key: path.Join(dir, a.Name), State: kept})
	link(a.chosen(), want.selected)
	if at := cmp.Or(want.link, have.link); len(want.choices) == 0 {
		link(at, "")
	} else {
		link(at, a.chosen())
	}
	if have.link != "" && want.link != "" && have.link != want.link {
		all = append(all, modules.Differ("", have.link)...)
	}
	was, is := have.chosenSlaves(), want.chosenSlaves()
	for _, s := range slices.Concat(have.slaves, want.slaves) {
		if was[s.Name] != is[s.Name] {
			all = append(all, modules.Differ("", s.Link, "/etc/alternatives/"+s.Name)...)
		}
	}
	return all
}

// timeout bounds a call of the program.
const timeout = time.Minute

// Apply implements [modules.Resource].
func (a *Alternatives) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	calls, ok := p.Steps.([]call)
	if !ok {
		return errors.New("the plan is not one of alternatives")
	}
	for _, c := range calls {
		exit, err := h.Commands.Run(ctx, modules.Command{Argv: append([]string{"update-alternatives"}, c...), Timeout: timeout})
		switch {
		case err != nil:
			return err
		case exit.Code != 0:
			lines := strings.Split(strings.TrimSpace(exit.Stderr.Text), "\n")
			return modules.Refuse("update-alternatives %s ended with exit code %d: %s", c[0], exit.Code, lines[len(lines)-1])
		}
	}
	return nil
}
