package container

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Container is a container of podman or docker. Its properties are stored in one of its labels, so that a check can
// name the property that differs: runtimes write the same value in many ways.
type Container struct {
	Name     string            `json:"name" required:"true" looks:"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$" doc:"name of the container"`
	Ensure   string            `json:"ensure,omitempty" enum:"running,stopped,present,absent" default:"running" doc:"stopped: created but not running; present: running or stopped"`
	Provider string            `json:"provider,omitempty" enum:"podman,docker,quadlet" doc:"quadlet: a systemd service with podman; default: podman or else docker, as the host has"`
	Image    string            `json:"image,omitempty" doc:"image with tag or digest: registry.example.net/shop@sha256:…; required unless absent"`
	Pull     string            `json:"pull,omitempty" enum:"missing,always,never" default:"missing" doc:"missing: pull an image that the host lacks; always: also pull a newer one (needs skopeo)"`
	Command  []string          `json:"command,omitempty" doc:"command of the container; default: command of the image"`
	Env      map[string]string `json:"env,omitempty" secret:"true" doc:"environment variables; values are never printed, but root can inspect them"`
	Ports    []string          `json:"ports,omitempty" doc:"published ports: 8080:80, 127.0.0.1:8080:80/tcp"`
	Volumes  []string          `json:"volumes,omitempty" doc:"mounted paths or named volumes: /srv/shop:/data:ro"`
	Network  string            `json:"network,omitempty" doc:"host, none or the name of a network"`
	Labels   map[string]string `json:"labels,omitempty" doc:"labels of the container"`
	Restart  string            `json:"restart,omitempty" enum:"no,on-failure,always,unless-stopped" doc:"when to restart it; default: no"`
	Enable   *bool             `json:"enable,omitempty" doc:"quadlet: start at boot; default: true, unless ensure is stopped"`
	User     string            `json:"user,omitempty" doc:"user of the command; default: user of the image"`
	Memory   string            `json:"memory,omitempty" looks:"^[0-9]+(\\.[0-9]+)?[kmgtpKMGTP]?[iI]?[bB]?$" doc:"memory limit, such as 512m"`
	CPUs     string            `json:"cpus,omitempty" numbers:"refuse" looks:"^[0-9]+(\\.[0-9]+)?$" doc:"CPU limit, such as \"1.5\""`
	Options  []string          `json:"options,omitempty" doc:"options of podman create or docker create, with the value after =: --read-only, --cap-drop=all"`
	Force    bool              `json:"force,omitempty" doc:"replace or remove a container of that name that this type did not create"`

	settle time.Duration // wait after a start, so that a container that ends at once is found; 0 in tests, whose containers do not
}

// The values of ensure.
const (
	running = "running"
	stopped = "stopped"
	present = "present"
	absent  = "absent"
)

const (
	podman  = "podman"
	docker  = "docker"
	quadlet = "quadlet"

	always = "always"
	never  = "never"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "container",
		Doc:  "Runs, stops or removes a container of podman or docker, or a systemd service that runs one with podman. If its settings differ, the container is recreated, and data outside of its volumes is lost.",
		New:  func() modules.Resource { return &Container{settle: settle} },
	}
}

// Requires implements [modules.Requirer].
func (c *Container) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// The shapes of a name, of a port that leads to one of the container (docker run --publish, podman-run(1)), and of numbers.
var (
	nameShape   = shape(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	portShape   = shape(`^(?i)(?:(?:(?:[0-9.]+|\[[0-9a-f:.]+\]):)?(?:[0-9]+(?:-[0-9]+)?)?:)?[0-9]+(?:-[0-9]+)?(?:/(?:tcp|udp|sctp))?$`)
	memoryShape = shape(`^(?i)[0-9]+(?:\.[0-9]+)?[kmgtp]?i?b?$`)
	cpusShape   = shape(`^[0-9]+(?:\.[0-9]+)?$`)
)

func shape(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// propertyOptions are options that have a property of their own. Every account of the host can read the argument of
// --env.
var propertyOptions = map[string]string{
	"--name": "name", "--env": "env", "--publish": "ports", "--volume": "volumes", "--label": "labels", "--restart": "restart",
	"--user": "user", "--memory": "memory", "--cpus": "cpus", "--pull": "pull",
}

// Validate implements [modules.Resource].
func (c *Container) Validate() error {
	var errs []error
	wrong := func(property, format string, args ...any) {
		errs = append(errs, modules.Errorf(property, format, args...))
	}
	if c.Name != "" && !nameShape().MatchString(c.Name) {
		wrong("name", "%q is not a valid container name", c.Name)
	}
	if c.Image == "" && c.Ensure != absent {
		errs = append(errs, &modules.PropertyError{Path: "image", Msg: `"image" cannot be empty`, Hint: "write an image with its tag or its digest"})
	}
	for _, p := range []struct{ property, text string }{{"image", c.Image}, {"network", c.Network}, {"user", c.User}, {"memory", c.Memory}, {"cpus", c.CPUs}} {
		errs = append(errs, modules.ValidateLine(p.property, p.text))
		if strings.HasPrefix(p.text, "-") {
			wrong(p.property, "%q cannot begin with a dash", p.property)
		}
		if strings.ContainsAny(p.text, " \t") {
			wrong(p.property, "%q has a space, which is not allowed in %q", p.text, p.property)
		}
	}
	errs = append(errs, c.validateShapes())
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if name == "" || strings.HasPrefix(name, "#") || strings.ContainsAny(name, "= \t\r\n\x00") {
			wrong("env", "%q is not a valid variable name", name)
		}
		if strings.ContainsAny(c.Env[name], "\r\n\x00") { // the files that programs read them from have lines
			wrong("env."+name, `"env.%s" must be one line, without NUL bytes`, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Labels)) {
		errs = append(errs, modules.ValidateText("labels."+name, name+c.Labels[name]))
		if name == "" || strings.Contains(name, "=") || name == labelName {
			wrong("labels", "%q is not a valid label", name)
		}
	}
	for i, word := range c.Command {
		errs = append(errs, modules.ValidateText(fmt.Sprintf("command[%d]", i), word))
	}
	for i, option := range c.Options {
		errs = append(errs, modules.ValidateLine(fmt.Sprintf("options[%d]", i), option))
		at := fmt.Sprintf("options[%d]", i)
		if option != "" && !strings.HasPrefix(option, "--") {
			wrong(at, "%q does not begin with two dashes", option)
		}
		name, _, _ := strings.Cut(option, "=")
		if property := propertyOptions[name]; property != "" {
			errs = append(errs, &modules.PropertyError{Path: at, Msg: "the option " + name + " has a property", Hint: "write " + property})
		}
	}
	if c.Enable != nil && c.Provider != quadlet {
		errs = append(errs, &modules.PropertyError{Path: "enable", Msg: `"enable" is only valid with provider: quadlet`, Hint: "write provider: quadlet, or restart: always"})
	}
	if c.Provider == quadlet {
		errs = append(errs, c.validateUnit())
	}
	return errors.Join(errs...)
}

// validateShapes reports ports, volumes and numbers that no program takes.
func (c *Container) validateShapes() error {
	var errs []error
	wrong := func(property, text, is, hint string) {
		errs = append(errs, &modules.PropertyError{Path: property, Msg: fmt.Sprintf("%q is not a valid %s", text, is), Hint: "write " + hint})
	}
	for i, port := range c.Ports {
		if !isPort(port) {
			wrong(fmt.Sprintf("ports[%d]", i), port, "port mapping", "8080:80, 127.0.0.1:8080:80 or 8080:80/udp")
		}
	}
	for i, volume := range c.Volumes {
		source, inside, both := strings.Cut(volume, ":")
		if !both {
			inside = volume
		}
		relative := strings.Contains(source, "/") && !strings.HasPrefix(source, "/")
		if source == "" || relative || !strings.HasPrefix(inside, "/") || strings.ContainsAny(volume, "\x00\r\n") {
			wrong(fmt.Sprintf("volumes[%d]", i), volume, "volume", "/srv/shop:/data with absolute paths, or the name of a volume before the colon")
		}
	}
	if c.Memory != "" && !memoryShape().MatchString(c.Memory) {
		wrong("memory", c.Memory, "amount of memory", "one such as 512m or 2g")
	}
	if c.CPUs != "" && !cpusShape().MatchString(c.CPUs) {
		wrong("cpus", c.CPUs, "number of processors", `one such as "1.5"`)
	}
	return errors.Join(errs...)
}

// isPort reports whether podman or docker accepts a port in this form; each number outside of an address must be a
// port.
func isPort(text string) bool {
	if !portShape().MatchString(text) {
		return false
	}
	text, _, _ = strings.Cut(text, "/")
	if i := strings.LastIndexAny(text, ".]"); i >= 0 { // the address
		_, text, _ = strings.Cut(text[i:], ":")
	}
	for _, number := range strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '-' }) {
		if n, err := strconv.Atoi(number); err != nil || n > 65535 {
			return false
		}
	}
	return true
}
