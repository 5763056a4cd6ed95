package container

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// steps are the steps of Apply, in this order.
type steps struct {
	program string
	pull    bool
	create  bool // in place of the existing one, if remove is set
	remove  bool
	start   bool
	stop    bool
}

// Check implements [modules.Resource].
func (c *Container) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	r, err := c.runtime(h)
	if err != nil {
		h.Forecast.Lookup(modules.AnyEffect, "") // a package may bring the program
		if c.Ensure == absent {
			err = nil // nothing could have made one
		}
		return modules.Plan{}, err
	}
	if c.Provider == quadlet {
		return (&service{c, r}).check(ctx)
	}
	is, err := r.container(ctx, c.Name)
	if err != nil {
		return modules.Plan{}, err
	}
	if is.exists && !is.ours && !c.Force {
		return modules.Plan{}, modules.Refuse("the container %s was not created by a container resource; remove the container, or set 'force: true' to replace the container", c.Name)
	}
	if c.Ensure == absent {
		if !is.exists {
			return modules.Plan{}, nil
		}
		return c.plan("removed the container", []modules.Change{{Property: "ensure", Have: is.state(), Want: absent}}, live{}, steps{program: r.program, remove: true}), nil
	}
	image, pull, newer, err := c.wanted(ctx, r)
	if err != nil {
		return modules.Plan{}, err
	}
	do, will := steps{program: r.program}, is
	changes := append(c.differences(is, image), newer...)
	action := ""
	switch {
	case !is.exists:
		action, do.create = "made the container", true
	case len(changes) > 0:
		action, do.create, do.remove = "recreated the container", true, true
	}
	if do.create {
		if do.pull = pull; do.pull && c.Pull == never {
			return modules.Plan{}, missing(c.Image)
		}
		will = live{exists: true, ours: true, made: c.of(), env: maps.Clone(c.Env), image: image}
	}
	do.start, do.stop = c.turn(is.running, will.running)
	will.running = will.running && !do.stop || do.start
	action, changes = c.turned(is, will, action, changes)
	if action == "" {
		return modules.Plan{}, nil
	}
	return c.plan(action, changes, will, do), nil
}

// turn reports whether the container must be started or stopped. before means that it ran before.
func (c *Container) turn(before, runs bool) (start, stop bool) {
	start = !runs && (c.Ensure == running || c.Ensure == present && before)
	return start, runs && c.Ensure == stopped
}

// turned adds that it runs otherwise than before.
func (c *Container) turned(is, will live, action string, changes []modules.Change) (string, []modules.Change) {
	if !is.exists || is.running == will.running {
		return action, changes
	}
	word := "stopped the container"
	if will.running {
		word = "started the container"
	}
	return cmp.Or(action, word), append(changes, modules.Change{Property: "ensure", Have: is.state(), Want: c.Ensure})
}

func (c *Container) plan(action string, changes []modules.Change, will live, do steps) modules.Plan {
	return modules.Plan{
		Action: action, Changes: changes, Steps: do, MayFail: true, // registries and runtimes decide
		Effects: append(pulls(c.Image, do.pull), modules.Effect{Kind: containerEffect, Key: c.Name, State: will}),
	}
}

// pulls returns the effect of a pull, if there is one.
func pulls(image string, due bool) []modules.Effect {
	if !due {
		return nil
	}
	return []modules.Effect{{Kind: imageEffect, Key: image}}
}

func missing(image string) error {
	return modules.Refuse("the host does not have the image %s ('pull: never')", image)
}

// wanted returns the ID of the image ("" if it is not known yet), whether it must be pulled for a new container, and
// the change if the registry has another one by now.
func (c *Container) wanted(ctx context.Context, r runtime) (image string, pull bool, newer []modules.Change, err error) {
	image, err = r.imageID(ctx, c.Image)
	if err != nil || image == "" || c.Pull != always {
		_, pulled := r.h.Forecast.Lookup(imageEffect, c.Image)
		return image, image == "" && !pulled, nil, err
	}
	have, newest, err := r.outdated(ctx, c.Image)
	if err != nil || newest == "" {
		return image, false, nil, err
	}
	return "", true, []modules.Change{{Property: "image", Have: cmp.Or(have, "not from this registry"), Want: newest}}, nil
}

// Recurs implements [modules.Recurrer]: a registry may have another image by now.
func (c *Container) Recurs(p modules.Plan) bool {
	switch do := p.Steps.(type) {
	case steps:
		return c.Pull == always && do.pull
	case unitSteps:
		return c.Pull == always && do.pull
	}
	return false
}

// state is the state of the container in the words of ensure.
func (l live) state() string {
	switch {
	case !l.exists:
		return absent
	case l.running:
		return running
	}
	return stopped
}

// differences are the properties of the existing container that differ.
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
			differ("env."+name, "another value", "the value of the manifest")
		}
	}
	if is.made.Image == c.Image && image != "" && is.image != "" && image != is.image { // the name now refers to another image
		differ("image", short(is.image), short(image))
	}
	return changes
}

// short is an ID as programs print it.
func short(id string) string { return id[:min(12, len(id))] }

// Apply implements [modules.Resource]. It creates a new container before it removes the old one, so that the old one is
// kept if the program refuses an option.
func (c *Container) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	if do, ok := p.Steps.(unitSteps); ok {
		return (&service{c, runtime{h, do.program}}).apply(ctx, do)
	}
	do, ok := p.Steps.(steps)
	if !ok {
		return errPlan
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r := runtime{h, do.program}
	run := func(words ...string) error { return r.run(ctx, "", words...) }
	fresh := c.Name
	if do.remove && do.create {
		var err error
		if fresh, err = r.fresh(ctx, c.Name); err != nil {
			return err
		}
	}
	return inOrder([]step{
		{do.pull, func() error { return r.pull(ctx, c.Image) }},
		{do.create, func() error {
			argv, err := c.create(fresh)
			if err != nil {
				return err
			}
			err = r.run(ctx, c.variables(), argv...)
			ctx = context.WithoutCancel(ctx) // the remaining steps are short, and stopping between them would leave no container
			return err
		}},
		{do.remove, func() error { return run("rm", "--force", c.Name) }},
		{do.remove && do.create, func() error { return run("rename", fresh, c.Name) }},
		{do.stop, func() error { return run("stop", c.Name) }},
		{do.start, func() error { return run("start", c.Name) }},
		{do.start, c.settles},
	})
}

// A step is a part of Apply.
type step struct {
	due bool
	do  func() error
}

// inOrder carries out the steps that are due, until one fails.
func inOrder(steps []step) error {
	for _, s := range steps {
		if !s.due {
			continue
		}
		if err := s.do(); err != nil {
			return err
		}
	}
	return nil
}

// settle is how long a container must live to count as started.
const settle = 500 * time.Millisecond

// settles waits for a container that ends at once, which the check after it then finds.
func (c *Container) settles() error {
	time.Sleep(c.settle)
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
	each("--label", c.labels())
	one("--restart", c.Restart)
	argv = append(append(argv, c.limits()...), c.Options...)
	return append(append(argv, c.Image), c.Command...), nil
}

// labels are the given labels, sorted.
func (c *Container) labels() (all []string) {
	for _, label := range slices.Sorted(maps.Keys(c.Labels)) {
		all = append(all, label+"="+c.Labels[label])
	}
	return all
}

// limits are the options for the container's user, memory and CPUs.
func (c *Container) limits() (all []string) {
	for _, option := range [][2]string{{"--user=", c.User}, {"--memory=", c.Memory}, {"--cpus=", c.CPUs}} {
		if option[1] != "" {
			all = append(all, option[0]+option[1])
		}
	}
	return all
}

// variables is the file with the environment.
func (c *Container) variables() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		b.WriteString(name + "=" + c.Env[name] + "\n")
	}
	return b.String()
}
