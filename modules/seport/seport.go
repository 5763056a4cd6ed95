package seport

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// A Seport is the type of a port, or of a range of ports. The host stores it in addition to the ports of the policy.
type Seport struct {
	Name   string `json:"name" required:"true" looks:"^[0-9]+(-[0-9]+)?(/(tcp|udp|dccp|sctp))?$" doc:"the port or the range, and its protocol: 8080/tcp or 10000-10100/udp; default protocol: tcp"`
	Ensure string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: the port has only the type from the policy"`
	Type   string `json:"type,omitempty" text:"argument" looks:"^[A-Za-z0-9_.-]+$" doc:"its type, such as http_port_t; required unless absent"`
	Range  string `json:"range,omitempty" text:"argument" looks:"^[A-Za-z0-9:.,-]+$" doc:"MLS levels; default: unchanged; s0 for a new entry"`
}

const (
	present = "present"
	absent  = "absent"

	store = "ports.local"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "seport",
		Doc:  "Keeps the type that SELinux gives to a port, so that a service can listen on a port that the policy does not allow by default.",
		New:  func() modules.Resource { return new(Seport) },
	}
}

// Requires implements [modules.Requirer].
func (p *Seport) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var (
	nameShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([0-9]{1,5})(?:-([0-9]{1,5}))?(?:/(tcp|udp|dccp|sctp))?$`)
	})
	typeShape  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })
	rangeShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9:.,-]+$`) })
)

// Validate implements [modules.Resource].
func (p *Seport) Validate() error {
	var errs []error
	if _, err := p.port(); p.Name != "" && err != nil {
		errs = append(errs, err)
	}
	switch {
	case p.Type == "" && p.Ensure != absent:
		errs = append(errs, &modules.PropertyError{Path: "type", Msg: `"type" cannot be empty`, Hint: "write one such as http_port_t; semanage port -l lists them"})
	case p.Type != "" && !typeShape().MatchString(p.Type):
		errs = append(errs, modules.Errorf("type", "%q is not an SELinux type", p.Type))
	}
	if p.Range != "" && !rangeShape().MatchString(p.Range) {
		errs = append(errs, modules.Errorf("range", "%q is not a range of levels", p.Range))
	}
	return errors.Join(errs...)
}

// A port is the store's key of a record.
type port struct {
	protocol    string
	first, last int // equal for a port alone
}

// maxPort is the highest port.
const maxPort = 65535

func (p *Seport) port() (port, error) {
	parts := nameShape().FindStringSubmatch(p.Name)
	if parts == nil {
		return port{}, &modules.PropertyError{Path: "name", Msg: fmt.Sprintf("%q is not a port", p.Name), Hint: "write 8080/tcp or 10000-10100/udp"}
	}
	is := port{protocol: "tcp"}
	is.first, _ = strconv.Atoi(parts[1])
	is.last = is.first
	if parts[2] != "" {
		is.last, _ = strconv.Atoi(parts[2])
	}
	if parts[3] != "" {
		is.protocol = parts[3]
	}
	if is.first < 1 || is.last > maxPort || is.last < is.first || parts[2] != "" && is.first == is.last {
		return port{}, modules.Errorf("name", "%q is not a range of ports from 1 to %d", p.Name, maxPort)
	}
	return is, nil
}

// numbers are the port numbers, in the syntax of semanage.
func (p port) numbers() string {
	if p.first == p.last {
		return strconv.Itoa(p.first)
	}
	return fmt.Sprintf("%d-%d", p.first, p.last)
}

func (p port) String() string { return p.numbers() + "/" + p.protocol }

// parse reads a line of the store: portcon tcp 8080 CONTEXT, or portcon udp 10000 - 10100 CONTEXT.
func parse(line string) (port, string, bool) {
	words := strings.Fields(line)
	const alone, both = 4, 6
	if len(words) != alone && len(words) != both || words[0] != "portcon" {
		return port{}, "", false
	}
	first, err := strconv.Atoi(words[2])
	last, wrong := strconv.Atoi(words[len(words)-2])
	return port{words[1], first, last}, words[len(words)-1], err == nil && wrong == nil
}
