package container

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// containerEffect is the kind of effect whose key is a name and whose state is a [live].
const containerEffect modules.EffectKind = "container"

// imageEffect is the kind of effect whose key is the name of an image that is pulled; it has no state.
const imageEffect modules.EffectKind = "container image"

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
