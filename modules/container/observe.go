package container

import (
	"context"
	"maps"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (c *Container) Subject() string { return "container " + c.Name }

// Reversal implements [modules.Reverser]: a container with the old properties, and whether it ran; or none. Data that
// the old container has written outside of its volumes is lost.
func (c *Container) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	r, err := c.runtime(h)
	if err != nil {
		return nil, err
	}
	is, by, err := c.is(ctx, r)
	if err == nil && by == quadlet && !is.exists { // a container that it would replace
		is, err = r.container(ctx, c.Name)
		is.ours = false
	}
	switch {
	case err != nil:
		return nil, err
	case !is.exists:
		return map[string]any{"ensure": absent, "provider": by}, nil
	case !is.ours:
		return nil, modules.Refuse("the container %s was made by something else, and could not be made again", c.Name)
	}
	env := map[string]string{}
	for _, name := range is.made.Env {
		env[name] = is.env[name]
	}
	back := map[string]any{"ensure": is.state(), "provider": by, "image": is.made.Image}
	if by == quadlet {
		back["enable"] = is.made.Enable
	}
	maps.Copy(back, map[string]any{
		"command": is.made.Command, "env": env, "ports": is.made.Ports, "volumes": is.made.Volumes, "network": is.made.Network, "labels": is.made.Labels,
		"restart": is.made.Restart, "user": is.made.User, "memory": is.made.Memory, "cpus": is.made.CPUs, "options": is.made.Options,
	})
	return back, nil
}

// is returns the state of the container, and its provider.
func (c *Container) is(ctx context.Context, r runtime) (live, string, error) {
	if c.Provider == quadlet {
		is, err := (&service{c, r}).now(ctx)
		return is.live, quadlet, err
	}
	is, err := r.container(ctx, c.Name)
	return is, r.program, err
}

// Watch implements [modules.Watcher].
func (c *Container) Watch(context.Context, modules.Host) (modules.Sources, error) {
	if c.Provider == quadlet {
		s := &service{Container: c}
		return modules.Sources{
			Paths: []string{s.file(), s.variablesFile()}, Units: []string{s.unitName()},
			Polled: "which image its name stands for",
		}, nil
	}
	return modules.Sources{Polled: "the output of podman or docker for the container"}, nil
}

type state struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	ID    string `json:"image_id,omitempty"`
	Made  *made  `json:"made,omitempty"` // properties; nil if something else has made it
}

// Describe implements [modules.Describer].
func (c *Container) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent}
	r, err := c.runtime(h)
	if err != nil {
		return d, err
	}
	is, by, err := c.is(ctx, r)
	if err != nil {
		return d, err
	}
	d.Ensure, d.Provider = is.state(), by
	s := state{Name: c.Name, Image: is.made.Image, ID: is.image}
	if is.ours {
		s.Made = &is.made
	}
	d.State = s
	return d, nil
}
