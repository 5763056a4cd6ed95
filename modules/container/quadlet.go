package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// unitEffect is the kind of effect whose key is a name and whose state is a [unit].
const unitEffect modules.EffectKind = "quadlet"

// A unit is the current state of a container that systemd runs with podman.
type unit struct {
	live             // it exists if its file does
	text      string // text of the file
	variables string // text of the file with the variables
	private   bool   // none but root may read that one
	known     bool   // systemd has the service
	unread    bool   // systemd has read another file than the current one
	begun     bool   // it runs, or is being started, again and again it may be
}

// unitSteps are the steps of Apply.
type unitSteps struct {
	program string
	pull    bool
	stop    bool
	write   bool // the files, with these texts; an empty text means none
	text    string
	env     string
	reread  bool
	replace bool // remove the existing container, which belongs to no unit
	start   bool
}

// check is the Check of a container of quadlet.
func (s *service) check(ctx context.Context) (modules.Plan, error) {
	is, err := s.now(ctx)
	if err != nil {
		return modules.Plan{}, err
	}
	foreign := ""
	switch {
	case is.exists && !is.ours:
		foreign = s.file()
	case is.variables != "" && !strings.HasPrefix(is.variables, variablesLine) && (is.exists || s.Ensure != absent):
		foreign = s.variablesFile()
	}
	if foreign != "" && !s.Force {
		return modules.Plan{}, modules.Refuse("the file %s was not created by a container resource; remove the file, or set 'force: true' to replace the file", foreign)
	}
	do, will := unitSteps{program: s.program, reread: is.unread}, is
	if s.Ensure == absent {
		if !is.exists && !is.known && !strings.HasPrefix(is.variables, variablesLine) {
			return modules.Plan{}, nil
		}
		do.write, do.reread, do.stop = true, true, is.begun
		have := is.state()
		if !is.exists {
			have = "remains of it"
		}
		return s.plan("removed the container", []modules.Change{{Property: "ensure", Have: have, Want: absent}}, unit{private: true}, do)
	}
	if err := hasQuadlet(s.h); err != nil {
		return modules.Plan{}, err
	}
	if !is.exists && !is.known {
		if do.replace, err = s.taken(ctx); err != nil {
			return modules.Plan{}, err
		}
	}
	image, pull, newer, err := s.wanted(ctx, s.runtime)
	if err != nil {
		return modules.Plan{}, err
	}
	if do.text, err = s.text(); err != nil {
		return modules.Plan{}, err
	}
	if len(s.Env) > 0 {
		do.env = variablesLine + s.variables()
	}
	changes := append(s.differences(is.live, image), newer...)
	if edited := is.text != do.text || is.variables != do.env || !is.private; is.exists && edited && len(changes) == 0 {
		changes = append(changes, modules.Change{Property: "unit", Have: "changed by something else", Want: "as these properties have it"})
	}
	action := ""
	switch {
	case !is.exists:
		action, do.write = "made the container", true
	case len(changes) > 0:
		action, do.write = "recreated the container", true
	case is.unread:
		action = "had systemd read its unit"
		changes = append(changes, modules.Change{Property: "unit", Have: "not read", Want: "read"})
	}
	if do.write {
		do.pull, do.reread = pull, true
		if do.pull && s.Pull == never {
			return modules.Plan{}, missing(s.Image)
		}
		will = unit{live: live{exists: true, ours: true, made: s.of(), env: variablesOf(do.env), image: image}, text: do.text, variables: do.env, private: true}
	}
	if do.reread {
		do.stop, will.running, will.begun, will.known, will.unread = is.begun, false, false, true, false
	}
	start, stop := s.turn(is.running, will.running)
	do.start, do.stop = start, do.stop || stop
	will.running = will.running && !stop || start
	will.begun = will.running
	action, changes = s.turned(is.live, will.live, action, changes)
	if action == "" {
		return modules.Plan{}, nil
	}
	return s.plan(action, changes, will, do)
}

func (s *service) plan(action string, changes []modules.Change, will unit, do unitSteps) (modules.Plan, error) {
	if !modules.HasRootRights(s.h.Files, "/etc/containers") {
		return modules.Plan{}, modules.Refuse(`only root may have systemd run containers here; use "become"`)
	}
	plan := modules.Plan{
		Action: action, Changes: changes, Steps: do,
		MayFail: do.pull || do.start || do.replace, // registries and runtimes decide
		Effects: append(pulls(s.Image, do.pull), modules.Effect{Kind: unitEffect, Key: s.Name, State: will}),
	}
	if !do.write {
		return plan, nil
	}
	if _, err := modules.Follow(s.h.Files, unitFolder); modules.NotThere(err) && do.text != "" {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: unitFolder, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true, Stays: true}})
	}
	for _, file := range s.files(do) {
		state := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}, Stays: true}
		if file.text != "" {
			given := modules.NewAttributes(file.mode, false)
			state.FileInfo = modules.FileInfo{Kind: modules.Regular, Size: int64(len(file.text)), Mode: given.Mode, UID: given.UID, GID: given.GID, Links: 1}
			state.Content = modules.TextContent(file.text)
		}
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: file.path, State: state})
	}
	plan.Texts = []modules.TextChange{{Path: s.file()}}
	if do.text != "" {
		plan.Texts[0].Want = modules.TextContent(do.text)
	}
	return plan, nil
}

// A textFile is a file with its desired text; an empty text means no file.
type textFile struct {
	path, text string
	mode       fs.FileMode
}

// files are the files of the unit, in the order in which they are written; they are removed in reverse order.
func (s *service) files(do unitSteps) []textFile {
	return []textFile{{s.variablesFile(), do.env, 0o600}, {s.file(), do.text, 0o644}}
}

// generators are the folders of the programs that generate units for systemd (systemd.generator(7)).
var generators = []string{"/usr/lib/systemd/system-generators", "/lib/systemd/system-generators", "/usr/local/lib/systemd/system-generators", "/etc/systemd/system-generators"}

// hasQuadlet refuses a host whose podman has no quadlet.
func hasQuadlet(h modules.Host) error {
	for _, dir := range generators {
		if modules.HasProgram(h.Files, dir, "podman-system-generator") {
			return nil
		}
	}
	h.Forecast.Lookup(modules.AnyEffect, "") // a package may bring it
	return modules.Refuse(`podman on this host has no quadlet, which needs podman 4.4 or later; remove the property "provider", or upgrade podman`)
}

// taken reports whether a container of the name exists that belongs to no unit.
func (s *service) taken(ctx context.Context) (bool, error) {
	other, err := s.container(ctx, s.Name)
	if err == nil && other.exists && !s.Force {
		err = modules.Refuse("the container %s already exists, and is not a service; remove the container, or set 'force: true' to replace the container", s.Name)
	}
	return other.exists, err
}

// now returns the state of the unit, in a check run the predicted one.
func (s *service) now(ctx context.Context) (unit, error) {
	if state, predicted := s.h.Forecast.Lookup(unitEffect, s.Name); predicted {
		return state.(unit), nil
	}
	text, at, err := (&edit.File{Path: s.file()}).Read(s.h.Files)
	if err != nil {
		return unit{}, err
	}
	variables, secret, err := (&edit.File{Path: s.variablesFile()}).Read(s.h.Files)
	if err != nil {
		return unit{}, err
	}
	is := unit{text: text, variables: variables, private: secret.Kind == modules.Absent || secret.Mode.Perm()&0o077 == 0}
	is.exists, is.env = at.Kind != modules.Absent, variablesOf(variables)
	is.made, is.ours = madeOf(text)
	if err := s.askSystemd(ctx, &is); err != nil || !is.running {
		return is, err
	}
	exit, err := s.look(ctx, s.program, "container", "inspect", s.Name)
	if err != nil || exit.Code != 0 {
		return is, err
	}
	runs, err := inspected(exit.Stdout.Text)
	is.image = runs.image
	return is, err
}

// askSystemd queries systemd about the service.
func (s *service) askSystemd(ctx context.Context, is *unit) error {
	exit, err := s.look(ctx, "systemctl", "--no-pager", "show", "--property=LoadState,ActiveState,SourcePath,FragmentPath,NeedDaemonReload", "--", s.unitName())
	switch {
	case err != nil:
		return err
	case exit.Code != 0:
		return failed("systemctl", "show", exit)
	}
	said := variablesOf(exit.Stdout.Text)
	if said["LoadState"] == "not-found" {
		is.unread = is.exists
		return nil
	}
	if of := cmp.Or(said["SourcePath"], said["FragmentPath"]); said["LoadState"] == "masked" || of != s.file() {
		if s.Ensure == absent {
			return nil // another program has made it
		}
		return modules.Refuse("there is a service %s of something else, %s; give the container another name", s.unitName(), cmp.Or(of, said["LoadState"]))
	}
	is.known, is.unread = true, !is.exists || said["NeedDaemonReload"] == "yes"
	is.begun = !slices.Contains([]string{"inactive", "failed"}, said["ActiveState"])
	is.running = is.begun && (said["ActiveState"] != "activating" || s.Ensure != running) // a service that is still starting counts as running only if it must be stopped
	return nil
}

// apply is Apply for a quadlet container. It tries the new container first, so that the old one is kept if podman
// refuses an option. It stops the old one before it writes the files, so that an interrupted run does not leave a
// container that runs with old settings.
func (s *service) apply(ctx context.Context, do unitSteps) error {
	run := func(words ...string) error {
		return modules.RunProgram(ctx, s.h, modules.Command{Argv: words, Timeout: runTimeout})
	}
	if do.pull {
		if err := s.pull(ctx, s.Image); err != nil {
			return err
		}
	}
	if do.write && do.text != "" {
		if err := s.tryOut(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the remaining steps are short, and stopping between them would leave no container
	err := inOrder([]step{
		{do.stop, func() error { return run("systemctl", "stop", "--", s.unitName()) }},
		{do.stop || do.start, func() error { return s.forgive(ctx) }},
	})
	if err != nil {
		return err
	}
	var paths []string
	if do.write {
		for _, file := range s.files(do) {
			paths = append(paths, file.path)
		}
	}
	refused := false // the files
	err = modules.OrPutBack(ctx, s.h, paths, func() error {
		err := inOrder([]step{
			{do.write, func() error { return s.write(ctx, do) }},
			{do.reread, func() error { return run("systemctl", "daemon-reload") }},
			{do.replace, func() error { return s.run(ctx, "", "rm", "--force", s.Name) }},
			{do.start, func() error { return run("systemctl", "start", "--", s.unitName()) }},
			{do.start, s.settles},
		})
		refused = err != nil && do.write
		return err
	})
	if !refused {
		return err
	}
	// Restart the service with the earlier files.
	back := run("systemctl", "daemon-reload")
	if back == nil && do.stop {
		back = run("systemctl", "start", "--", s.unitName())
	}
	if back != nil {
		return fmt.Errorf("%w; the earlier files were restored, but %s was not: %w", err, s.unitName(), back)
	}
	return fmt.Errorf("%w; the earlier state was restored", err)
}

// forgive resets systemd's record of how the service ended. Otherwise a service that was killed to stop it would be
// shown as failed, even after it is removed, and one that has failed several times would not be started again.
func (s *service) forgive(ctx context.Context) error {
	_, err := s.h.Commands.Run(ctx, modules.Command{Argv: []string{"systemctl", "reset-failed", "--", s.unitName()}, Timeout: runTimeout})
	return err // exits with status 1 if systemd does not know the service
}

// tryOut creates a container with the same settings, and removes it.
func (s *service) tryOut(ctx context.Context) error {
	name, err := s.fresh(ctx, s.Name)
	if err != nil {
		return err
	}
	argv, err := s.create(name)
	if err != nil {
		return err
	}
	err = s.run(ctx, s.variables(), argv...)
	if err != nil {
		return err
	}
	_, err = s.fresh(context.WithoutCancel(ctx), s.Name)
	return err
}

// write writes the files with the desired texts, or removes them.
func (s *service) write(ctx context.Context, do unitSteps) error {
	files := s.files(do)
	if do.text == "" {
		slices.Reverse(files)
	} else if _, err := modules.Follow(s.h.Files, unitFolder); modules.NotThere(err) {
		if err := s.h.Files.MakeDir(ctx, unitFolder, modules.NewAttributes(0o755, false)); err != nil {
			return err
		}
	}
	for _, file := range files {
		if file.text == "" {
			if err := s.h.Files.Remove(ctx, file.path, false); err != nil && !modules.NotThere(err) {
				return err
			}
			continue
		}
		if err := s.h.Files.Write(ctx, file.path, strings.NewReader(file.text), modules.NewAttributes(file.mode, false)); err != nil {
			return err
		}
	}
	return nil
}

var errPlan = errors.New("the plan is not one of a container")
