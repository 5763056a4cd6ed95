package container

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// steps is what Apply has to do, in this order.
type steps struct {
	program string
	pull    bool
	create  bool // in the place of the one that is there, if remove is set
	remove  bool
	start   bool
	stop    bool
}

// Check implements [modules.Resource].
func (c *Container) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	program, err := c.provider(h)
	if err != nil {
		h.Forecast.Lookup(modules.AnyEffect, "") // a package may bring the program
		if c.Ensure == absent {
			err = nil // nothing could have made one
		}
		return modules.Plan{}, err
	}
	is, err := c.now(ctx, h, program)
	if err != nil {
		return modules.Plan{}, err
	}
	if is.exists && !is.ours && !c.Force {
		return modules.Plan{}, modules.Refuse("the container %s was not made by this type; remove it, or set 'force: true' to have it replaced", c.Name)
	}
	if c.Ensure == absent {
		if !is.exists {
			return modules.Plan{}, nil
		}
		return c.plan("removed the container", []modules.Change{{Property: "ensure", Have: is.state(), Want: absent}}, live{}, steps{program: program, remove: true}), nil
	}
	image, err := c.imageID(ctx, h, program)
	if err != nil {
		return modules.Plan{}, err
	}
	do, will := steps{program: program}, is
	changes := c.differences(is, image)
	action := ""
	switch {
	case !is.exists:
		action, do.create = "made the container", true
	case len(changes) > 0:
		action, do.create, do.remove = "made the container anew", true, true
	}
	if do.create {
		if do.pull = image == ""; do.pull && c.Pull == "never" {
			return modules.Plan{}, modules.Refuse("the host does not have the image %s ('pull: never')", c.Image)
		}
		will = live{exists: true, ours: true, made: c.of(), env: maps.Clone(c.Env), image: image}
	}
	switch {
	case c.Ensure == running && !will.running, c.Ensure == present && do.create && is.running: // as it was
		do.start, will.running = true, true
	case c.Ensure == stopped && will.running:
		do.stop, will.running = true, false
	}
	if is.exists && is.running != will.running {
		changes = append(changes, modules.Change{Property: "ensure", Have: is.state(), Want: c.Ensure})
		action = cmp.Or(action, map[bool]string{true: "started the container", false: "stopped the container"}[will.running])
	}
	if action == "" {
		return modules.Plan{}, nil
	}
	return c.plan(action, changes, will, do), nil
}

func (c *Container) plan(action string, changes []modules.Change, will live, do steps) modules.Plan {
	return modules.Plan{
		Action: action, Changes: changes, Steps: do, MayFail: true, // registries and runtimes decide
		Effects: []modules.Effect{{Kind: containerEffect, Key: c.Name, State: will}},
	}
}

// state is how it is, in the words of ensure.
func (l live) state() string {
	switch {
	case !l.exists:
		return absent
	case l.running:
		return running
	}
	return stopped
}

// differences are what it is made of and shall not be.
func (c *Container) differences(is live, image string) (changes []modules.Change) {
	differ := func(property, have, want string) {
		if have != want {
			changes = append(changes, modules.Change{Property: property, Have: cmp.Or(have, "none"), Want: cmp.Or(want, "none")})
		}
	}
	switch {
	case !is.exists:
		return []modules.Change{{Property: "ensure", Have: absent, Want: c.Ensure}}
	case !is.ours:
		return []modules.Change{{Property: "container", Have: "made by something else", Want: "made of these properties"}}
	}
	have, want := is.made.parts(), c.of().parts()
	for i := range want {
		differ(want[i][0], have[i][1], want[i][1])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if value, there := is.env[name]; there && slices.Contains(is.made.Env, name) && value != c.Env[name] {
			differ("env."+name, "another value", "that of the manifest")
		}
	}
	if is.made.Image == c.Image && image != "" && is.image != "" && image != is.image { // the name is that of another image by now
		differ("image", short(is.image), short(image))
	}
	return changes
}

// short is an ID as programs print it.
func short(id string) string { return id[:min(12, len(id))] }

// pullTimeout and runTimeout bound what the programs take.
const (
	pullTimeout = 30 * time.Minute
	runTimeout  = 5 * time.Minute
)

// Apply implements [modules.Resource]. A new container is made before the old one goes, so that what a program does
// not take leaves the old one.
func (c *Container) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a container")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	run := func(timeout time.Duration, stdin string, words ...string) error {
		return modules.RunProgram(ctx, h, modules.Command{Argv: append([]string{do.program}, words...), Path: c.path(), Timeout: timeout, Stdin: stdin})
	}
	fresh := c.Name
	if do.remove && do.create {
		fresh += "-ccm-push-new"
		rest, err := (&Container{Name: fresh, root: c.root}).now(ctx, h, do.program) // of a run that was killed
		if err != nil {
			return err
		}
		if rest.exists {
			if err := run(runTimeout, "", "rm", "--force", fresh); err != nil {
				return err
			}
		}
	}
	for _, step := range []struct {
		due bool
		do  func() error
	}{
		{do.pull, func() error { return run(pullTimeout, "", "pull", "--quiet", c.Image) }},
		{do.create, func() error {
			argv, err := c.create(fresh)
			if err != nil {
				return err
			}
			err = run(runTimeout, c.variables(), argv...)
			ctx = context.WithoutCancel(ctx) // what has begun is short, and half of it would be no container
			return err
		}},
		{do.remove, func() error { return run(runTimeout, "", "rm", "--force", c.Name) }},
		{do.remove && do.create, func() error { return run(runTimeout, "", "rename", fresh, c.Name) }},
		{do.stop, func() error { return run(runTimeout, "", "stop", c.Name) }},
		{do.start, func() error { return run(runTimeout, "", "start", c.Name) }},
	} {
		if !step.due {
			continue
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// create are the words that make the container. Its variables are read from standard input.
func (c *Container) create(name string) ([]string, error) {
	label, err := json.Marshal(c.of())
	if err != nil {
		return nil, err
	}
	argv := []string{"create", "--name=" + name, "--label=" + labelName + "=" + string(label), "--pull=never"}
	if len(c.Env) > 0 {
		argv = append(argv, "--env-file=/dev/stdin")
	}
	each := func(flag string, values []string) {
		for _, value := range values {
			argv = append(argv, flag+"="+value)
		}
	}
	one := func(flag, value string) {
		if value != "" {
			argv = append(argv, flag+"="+value)
		}
	}
	each("--publish", c.Ports)
	each("--volume", c.Volumes)
	one("--network", c.Network)
	for _, label := range slices.Sorted(maps.Keys(c.Labels)) {
		argv = append(argv, "--label="+label+"="+c.Labels[label])
	}
	one("--restart", c.Restart)
	one("--user", c.User)
	one("--memory", c.Memory)
	one("--cpus", c.CPUs)
	argv = append(argv, c.Options...)
	return append(append(argv, c.Image), c.Command...), nil
}

// variables is the file with the environment.
func (c *Container) variables() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		b.WriteString(name + "=" + c.Env[name] + "\n")
	}
	return b.String()
}
