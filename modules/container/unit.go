package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// unitFolder is the folder in which quadlet looks for an administrator's files (podman-systemd.unit(5)).
const unitFolder = "/etc/containers/systemd"

// A service is a container that systemd runs: quadlet makes its unit from a file.
type service struct {
	*Container
	runtime
}

// file is the file that quadlet turns into a service, and variablesFile the one with the variables. Only root may
// read that: systemd shows the text of a unit to all users.
func (s *service) file() string          { return path.Join(unitFolder, s.Name+".container") }
func (s *service) variablesFile() string { return path.Join(unitFolder, s.Name+".env") }

// unitName is the unit that quadlet makes.
func (s *service) unitName() string { return s.Name + ".service" }

// enabled reports whether systemd starts it at boot.
func (c *Container) enabled() bool {
	if c.Provider != quadlet {
		return false
	}
	if c.Enable != nil {
		return *c.Enable
	}
	return c.Ensure != stopped
}

// special are the characters that quadlet or systemd would interpret in a value that is not a list of words.
const special = "%$\\\"'"

// validateUnit reports properties that a unit cannot express.
func (c *Container) validateUnit() error {
	var errs []error
	plain := func(property, text string) {
		if strings.ContainsAny(text, special) || text != strings.TrimSpace(text) {
			errs = append(errs, modules.Errorf(property, "with quadlet, the property %q cannot contain any of the characters %s, and cannot begin or end with a space", property, special))
		}
	}
	plain("image", c.Image)
	plain("network", c.Network)
	for i, port := range c.Ports {
		plain(fmt.Sprintf("ports[%d]", i), port)
	}
	for i, volume := range c.Volumes {
		plain(fmt.Sprintf("volumes[%d]", i), volume)
	}
	if i := slices.Index(c.Command, ";"); i >= 0 {
		errs = append(errs, modules.Errorf(fmt.Sprintf("command[%d]", i), "with quadlet, no word of a command can be a semicolon: have sh -c run it"))
	}
	return errors.Join(errs...)
}

// firstLine is the first line of a unit of ours; the second one contains its properties.
const firstLine = "# Made by ccm-push of the following; what is changed here is put back."

// variablesLine is the first one of a file with variables of ours.
const variablesLine = "# Made by ccm-push; what is changed here is put back.\n"

// text is the file that quadlet turns into a service. It uses the keys of podman 4.4, the first one with quadlet.
func (s *service) text() (string, error) {
	of, err := json.Marshal(s.of())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			b.WriteString(key + "=" + value + "\n")
		}
	}
	b.WriteString(firstLine + "\n# " + string(of) + "\n\n[Unit]\nDescription=Container " + s.Name + "\nWants=network-online.target\nAfter=network-online.target\n")
	b.WriteString("\n[Container]\nContainerName=" + s.Name + "\nImage=" + s.Image + "\n")
	line("Exec", words(s.Command))
	if len(s.Env) > 0 {
		line("EnvironmentFile", s.variablesFile())
	}
	for _, port := range s.Ports {
		line("PublishPort", port)
	}
	for _, volume := range s.Volumes {
		line("Volume", volume)
	}
	line("Network", s.Network)
	for _, label := range s.labels() {
		line("Label", word(label))
	}
	for _, option := range append(s.limits(), s.Options...) {
		line("PodmanArgs", words([]string{option}))
	}
	switch s.Restart {
	case "":
	case "unless-stopped": // a manually stopped service is not started again
		b.WriteString("\n[Service]\nRestart=always\n")
	default:
		b.WriteString("\n[Service]\nRestart=" + s.Restart + "\n")
	}
	if s.enabled() {
		b.WriteString("\n[Install]\nWantedBy=multi-user.target\n")
	}
	return b.String(), nil
}

// madeOf reads the properties in a unit of ours.
func madeOf(text string) (m made, ours bool) {
	lines := strings.SplitN(text, "\n", 3)
	if len(lines) < 3 || lines[0] != firstLine {
		return made{}, false
	}
	return m, json.Unmarshal([]byte(strings.TrimPrefix(lines[1], "# ")), &m) == nil
}

// words quotes a command in the syntax of units.
func words(all []string) string {
	quoted := make([]string, len(all))
	for i, one := range all {
		quoted[i] = word(one)
	}
	return strings.Join(quoted, " ")
}

// word quotes a word, so that neither systemd nor quadlet before it finds anything special in it (systemd.syntax(7),
// systemd.service(5)).
func word(text string) string {
	text = strings.NewReplacer("%", "%%", "$", "$$").Replace(text)
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'\\", r) })
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"', r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ', r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// variablesOf reads a file with variables.
func variablesOf(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			all[name] = value
		}
	}
	return all
}
