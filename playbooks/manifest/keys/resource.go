package keys

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// Resource has the keys that every type has. The type's own properties are next to them in a manifest.
type Resource struct {
	Alias     string   `json:"alias" doc:"another name, for references and reports"`
	Require   []string `json:"require" doc:"earlier resources, as type#name, without which this one is skipped"`
	Subscribe []string `json:"subscribe" doc:"earlier resources whose change refreshes this one"`
	Before    []string `json:"before" doc:"later resources that are skipped if this one fails: the reverse of require"`
	Notify    []string `json:"notify" doc:"later resources that a change of this one refreshes: the reverse of subscribe"`
	Control   Control  `json:"control" hint:"write control: {if: Data.x == 'y'}" doc:"whether the resource is managed at all"`
	Scope
	Noop      bool     `json:"noop" doc:"only predict this resource, also in a run that changes things"`
	Sensitive bool     `json:"sensitive" doc:"show no content, output or diff of it anywhere"`
	Tags      []string `json:"tags" doc:"labels of the resource"`

	Health []health.Check `json:"health_checks" hint:"write - command: /usr/lib/nagios/plugins/check_disk -w 10%" doc:"checks on the host after the resource is applied; if a check is not OK, the resource has failed"`

	On string `json:"on" hint:"write on: HOST" doc:"the host where it runs instead of the host of the play; controller is the machine where ccm-push runs"`

	Once bool `json:"once" hint:"write true or false, and decide with control" doc:"it runs for one host of a batch, and its result holds for all of them"`

	Meta
	Recv   map[string]any `json:"recv" hint:"write recv: {content: exec#token.stdout}" doc:"properties whose values another resource sends: PROPERTY: type#name.key, or PROPERTY: {host: NAME, from: type#name.key}"`
	Export []string       `json:"export" doc:"the values that other hosts may receive, such as stdout"`

	Results string `json:"register" doc:"the name of its result for later resources of the same host and play: Results.NAME"`

	Register []Registration `json:"register_when_stable" doc:"where others find a service, published to NATS once the resource is stable"`
}

// Scope has the keys of resources and blocks that decide what their expressions see. They are a part of [Resource] and
// [Block].
type Scope struct {
	Each any            `json:"each" doc:"a list: one resource or block per element, which is Item"`
	Vars map[string]any `json:"vars" hint:"write vars: {NAME: VALUE}" doc:"values that override data for the resource, or for all resources of the block"`
}

// Control is the keys of control.
type Control struct {
	If     any `json:"if" doc:"an expression, or a list of them; the resource is managed when all are true"`
	Unless any `json:"unless" doc:"an expression, or a list of them; the resource is not managed when one of them is true"`
}

// Import is the keys of a value of recv from another host.
type Import struct {
	Host string `json:"host" required:"true" doc:"the name of the other host in the inventory"`
	From string `json:"from" required:"true" doc:"the resource there and its value: type#name.key"`
}

// Registration has the keys of an entry of register_when_stable, which is published to a service registry.
type Registration struct {
	Cluster     string            `json:"cluster" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"the cluster of the service"`
	Service     string            `json:"service" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"the name of the service"`
	Protocol    string            `json:"protocol" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"the protocol it speaks"`
	Address     string            `json:"address" required:"true" doc:"its IP address"`
	Port        int               `json:"port" doc:"its port, 1-65535"`
	Priority    int               `json:"priority" required:"true" doc:"1-255; the lowest comes first"`
	Annotations map[string]string `json:"annotations" doc:"free texts"`
	TTL         string            `json:"ttl" pattern:"^(never|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h|d|w|M|y))+)$" doc:"how long it lasts: a duration such as 30s, or never"`
}

// ResultForm matches the names of results, which expressions and templates read as Results.NAME.
const ResultForm = "^[A-Za-z_][A-Za-z0-9_]{0,63}$"

// CheckRegistrations checks a list of them, whose shape has been decoded, as far as its
// values are not open.
func CheckRegistrations(list *yamlpos.Node, open func(*yamlpos.Node) bool) error {
	var errs yamlpos.Errors
	for _, entry := range list.Items {
		if entry.Kind != yamlpos.Map {
			continue
		}
		for _, f := range modules.Fields(Registration{}) {
			value := Given(entry.Get(f.Name))
			switch {
			case value == nil && f.Required:
				errs.Add(entry.Errorf("", "registration is invalid: %s is required", f.Name))
			case value == nil, value.Kind != yamlpos.Scalar, open(value):
			default:
				errs.Add(checkRegistered(f, value))
			}
		}
	}
	return errs.Err()
}

// checkRegistered checks one literal value of a registration.
func checkRegistered(f modules.Field, n *yamlpos.Node) error {
	var err error
	switch f.Name {
	case "address":
		_, err = netip.ParseAddr(n.Text)
		if err != nil {
			err = errors.New("is not an IP address")
		}
	case "port":
		err = within(n, 65535)
	case "priority":
		err = within(n, 255)
	case "ttl":
		if _, wrong := registry.ParseTTL(n.Text); wrong != nil {
			err = errors.New(strings.TrimPrefix(wrong.Error(), "it "))
		}
	default:
		if f.CheckText(f.Name, n.Text) != nil {
			err = errors.New("is not a valid name")
		}
	}
	if err != nil {
		return n.Errorf("", "registration is invalid: %s %q %v", f.Name, n.Text, err)
	}
	return nil
}

// within checks an integer from 1. That it is not an integer is reported by
// decoding.
func within(n *yamlpos.Node, most int64) error {
	if i, ok := n.Value.(int64); ok && (i < 1 || i > most) {
		return fmt.Errorf("is outside 1-%d", most)
	}
	return nil
}
