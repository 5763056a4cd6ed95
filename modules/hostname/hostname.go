package hostname

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Hostname is the name of the host: in /etc/hostname, which is read at boot, and in the kernel.
// The pretty one, for people, is in /etc/machine-info (machine-info(5)).
type Hostname struct {
	Name   string `json:"name" required:"true" doc:"the name, such as web1 or web1.example.net; something else if static has it"`
	Static string `json:"static,omitempty" doc:"the host name, if the resource has another name; default: name"`
	Pretty string `json:"pretty,omitempty" doc:"a name for people, such as Web 1 (staging); default: unchanged"`
	// Restore is set if the resource undoes another one.
	Restore map[string]*edit.Restore `json:"restore,omitzero" wire:"only"`
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "hostname",
		Doc: "Keeps the name of the host: the one that it has now, and the one that it gets at boot. " +
			"It does not change /etc/hosts.",
		New: func() modules.Resource { return new(Hostname) },
	}
}

// Requires implements [modules.Requirer].
func (n *Hostname) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// maxName is the kernel's limit of its length (HOST_NAME_MAX, gethostname(2)).
const maxName = 64

// nameShape matches labels with dots between them (hostname(5)).
var nameShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
})

// Validate implements [modules.Resource].
func (n *Hostname) Validate() error {
	errs := []error{modules.ValidateLine("pretty", n.Pretty)}
	property := "name"
	if n.Static != "" {
		property = "static"
	}
	if is := n.static(); n.Restore == nil && is != "" && (len(is) > maxName || !nameShape().MatchString(is)) {
		errs = append(errs, &modules.PropertyError{Path: property, Msg: "this is not a valid host name", Hint: "write letters, digits and hyphens, with dots between labels: at most 64 bytes"})
	}
	return errors.Join(errs...)
}

// static is the desired static name of the host.
func (n *Hostname) static() string { return cmp.Or(n.Static, n.Name) }

// files are the files to edit.
func (n *Hostname) files() edit.Files {
	all := edit.Files{{Path: "/etc/hostname", Edit: n.editName, Create: true, Mode: "0644"}}
	if n.Pretty != "" || n.Restore != nil {
		all = append(all, &edit.File{Path: "/etc/machine-info", Edit: n.editPretty, Create: true, Mode: "0644"})
	}
	return all.Restoring(n.Restore)
}

// editName makes the text of /etc/hostname: one name, and comments (hostname(5)).
func (n *Hostname) editName(t *edit.Text) (edit.Done, error) {
	have := ""
	changed := t.KeepLine(n.static(), func(line string) (string, bool) {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "#") {
			return "", false
		}
		if have == "" {
			have = text
		}
		if text != n.static() {
			line = n.static()
		}
		return line, true
	})
	if !changed {
		return edit.Done{}, nil
	}
	return edit.Done{Action: "named the host", Changes: []modules.Change{{Property: "name at boot", Have: cmp.Or(have, absent), Want: n.static()}}}, nil
}

const (
	absent    = "absent"
	prettyKey = "PRETTY_HOSTNAME="
)

// editPretty makes the text of /etc/machine-info.
func (n *Hostname) editPretty(t *edit.Text) (edit.Done, error) {
	want, have := prettyKey+quote(n.Pretty), ""
	changed := t.KeepLine(want, func(line string) (string, bool) {
		if !isPretty(line) {
			return "", false
		}
		if have = unquote(strings.TrimPrefix(line, prettyKey)); have != n.Pretty { // the last one counts
			line = want
		}
		return line, true
	})
	if !changed {
		return edit.Done{}, nil
	}
	return edit.Done{Action: "named the host", Changes: []modules.Change{{Property: "pretty", Have: cmp.Or(have, absent), Want: n.Pretty}}}, nil
}

func isPretty(line string) bool { return strings.HasPrefix(line, prettyKey) }

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// quote writes a value as a shell would read it, and as systemd does.
func quote(value string) string { return `"` + escape.Replace(value) + `"` }

// unquote reads such a value.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'':
		return text[1 : len(text)-1]
	case len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"':
		text = text[1 : len(text)-1]
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
