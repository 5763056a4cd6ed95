package container

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// containerEffect is the kind of effect whose key is a name and whose state is a [live].
const containerEffect modules.EffectKind = "container"

// labelName is the label with the [made] of a container.
const labelName = "io.ccm-push.made"

// A made contains the properties that a container was made with. It omits the values of variables, since other users
// can see arguments.
type made struct {
	Image   string            `json:"image"`
	Command []string          `json:"command,omitempty"`
	Env     []string          `json:"env,omitempty"` // their names
	Ports   []string          `json:"ports,omitempty"`
	Volumes []string          `json:"volumes,omitempty"`
	Network string            `json:"network,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Restart string            `json:"restart,omitempty"`
	Enable  bool              `json:"enable,omitempty"` // used only with quadlet
	User    string            `json:"user,omitempty"`
	Memory  string            `json:"memory,omitempty"`
	CPUs    string            `json:"cpus,omitempty"`
	Options []string          `json:"options,omitempty"`
}

// of returns the desired properties of the container.
func (c *Container) of() made {
	return made{
		Image: c.Image, Command: c.Command, Env: slices.Sorted(maps.Keys(c.Env)), Ports: c.Ports, Volumes: c.Volumes, Network: c.Network,
		Labels: c.Labels, Restart: c.Restart, Enable: c.enabled(), User: c.User, Memory: c.Memory, CPUs: c.CPUs, Options: c.Options,
	}
}

// parts are its properties as texts, in their order.
func (m made) parts() [][2]string {
	list := func(all []string) string {
		var words []string
		for _, word := range all {
			if word == "" || strings.ContainsAny(word, " \t\n\"") {
				word = strconv.Quote(word)
			}
			words = append(words, word)
		}
		return strings.Join(words, " ")
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		labels = append(labels, name+"="+m.Labels[name])
	}
	enable := ""
	if m.Enable {
		enable = "at boot"
	}
	return [][2]string{
		{"image", m.Image}, {"command", list(m.Command)}, {"env", list(m.Env)}, {"ports", list(m.Ports)}, {"volumes", list(m.Volumes)}, {"network", m.Network},
		{"labels", list(labels)}, {"restart", m.Restart}, {"enable", enable}, {"user", m.User}, {"memory", m.Memory}, {"cpus", m.CPUs}, {"options", list(m.Options)},
	}
}

// live is the state of a container.
type live struct {
	exists  bool
	ours    bool // its label contains its properties
	made    made
	env     map[string]string
	image   string // ID
	running bool
}

// provider is the program that manages the container.
func (c *Container) provider(h modules.Host) (string, error) {
	programs := c.programs()
	for _, program := range programs {
		if modules.HasProgram(h.Files, modules.DefaultPath, program) {
			return program, nil
		}
	}
	return "", modules.Refuse("%s is not found in %s; install it first", strings.Join(programs, " or "), modules.DefaultPath)
}

// programs are the programs that may manage it.
func (c *Container) programs() []string {
	switch c.Provider {
	case "":
		return []string{podman, docker}
	case quadlet:
		return []string{podman}
	}
	return []string{c.Provider}
}

const lookTimeout = time.Minute

// look runs a query that changes nothing.
func look(ctx context.Context, h modules.Host, argv ...string) (modules.Exit, error) {
	const most = 1 << 20
	return h.Commands.Probe(ctx, modules.Command{Argv: argv, Reads: containerEffect, Timeout: lookTimeout, MaxOutput: most})
}

// now returns the state of the container, in a check run the predicted one.
func (c *Container) now(ctx context.Context, h modules.Host, program string) (live, error) {
	if state, predicted := h.Forecast.Lookup(containerEffect, c.Name); predicted {
		return state.(live), nil
	}
	exit, err := look(ctx, h, program, "ps", "--all", "--filter", "name=^"+strings.ReplaceAll(c.Name, ".", `\.`)+"$", "--format", "{{.Names}}")
	switch {
	case err != nil:
		return live{}, err
	case exit.Code != 0:
		return live{}, failed(program, "ps", exit)
	case strings.TrimSpace(exit.Stdout.Text) == "":
		return live{}, nil
	}
	if exit, err = look(ctx, h, program, "container", "inspect", c.Name); err != nil {
		return live{}, err
	}
	if exit.Code != 0 {
		return live{}, failed(program, "container inspect", exit)
	}
	return inspected(exit.Stdout.Text)
}

// failed is the error of a failed query. The program's output may contain anything.
func failed(program, what string, exit modules.Exit) error {
	said, _, _ := strings.Cut(strings.TrimSpace(exit.Stderr.Text), "\n")
	return fmt.Errorf("%s %s: exit code %d: %s", program, what, exit.Code, said)
}

// inspected reads the output of podman or docker about a container, from the fields that both have.
func inspected(text string) (live, error) {
	var all []struct {
		Image  string
		State  struct{ Running bool }
		Config struct {
			Env    []string
			Labels map[string]string
		}
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 1 {
		return live{}, modules.Refuse("cannot read the output of inspect for the container")
	}
	is := live{exists: true, image: plainID(all[0].Image), running: all[0].State.Running, env: map[string]string{}}
	for _, variable := range all[0].Config.Env {
		name, value, _ := strings.Cut(variable, "=")
		is.env[name] = value
	}
	label, ours := all[0].Config.Labels[labelName]
	is.ours = ours && json.Unmarshal([]byte(label), &is.made) == nil
	return is, nil
}

// plainID is the ID of an image without the prefix that only docker has.
func plainID(id string) string { return strings.TrimPrefix(strings.TrimSpace(id), "sha256:") }

// imageID is the ID of the image, if the host has it.
func (c *Container) imageID(ctx context.Context, h modules.Host, program string) (string, error) {
	exit, err := look(ctx, h, program, "image", "inspect", "--format", "{{.Id}}", c.Image)
	if err != nil || exit.Code != 0 {
		return "", err
	}
	return plainID(exit.Stdout.Text), nil
}

// imageEffect is the kind of effect whose key is the name of an image that is pulled; it has no state.
const imageEffect modules.EffectKind = "container image"

// outdated returns the digests of the host's and of the registry's manifest for the name of the image; newest is empty
// if they are equal. A digest always names the same image.
func (c *Container) outdated(ctx context.Context, h modules.Host, program string) (have, newest string, err error) {
	if _, pulled := h.Forecast.Lookup(imageEffect, c.Image); pulled || strings.Contains(c.Image, "@") {
		return "", "", nil
	}
	if !modules.HasProgram(h.Files, modules.DefaultPath, "skopeo") {
		return "", "", modules.Refuse("'pull: always' needs skopeo, which is not found in %s; install skopeo first, or name the image by its digest", modules.DefaultPath)
	}
	known, err := look(ctx, h, program, "image", "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", c.Image)
	if err != nil {
		return "", "", err
	}
	exit, err := look(ctx, h, "skopeo", "inspect", "--raw", "docker://"+c.Image)
	switch {
	case err != nil:
		return "", "", err
	case exit.Code != 0:
		return "", "", failed("skopeo", "inspect", exit)
	}
	newest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(exit.Stdout.Text)))
	for line := range strings.Lines(known.Stdout.Text) {
		if _, digest, named := strings.Cut(strings.TrimSpace(line), "@"); named {
			if digest == newest {
				return "", "", nil
			}
			have = digest
		}
	}
	return have, newest, nil
}
