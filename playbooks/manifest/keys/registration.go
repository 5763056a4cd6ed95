package keys

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// Registration is the keys of an entry of register_when_stable: what CCM publishes to a
// service registry. A push has none to publish to, so it is only checked.
type Registration struct {
	Cluster     string            `json:"cluster" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"the cluster of the service"`
	Service     string            `json:"service" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"the name of the service"`
	Protocol    string            `json:"protocol" required:"true" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"the protocol it speaks"`
	Address     string            `json:"address" required:"true" doc:"its IP address"`
	Port        int               `json:"port" doc:"its port, 1-65535"`
	Priority    int               `json:"priority" required:"true" doc:"1-255"`
	Annotations map[string]string `json:"annotations" doc:"free texts"`
	TTL         string            `json:"ttl" pattern:"^(never|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h|d|w|M|y))+)$" doc:"how long it lasts: a duration such as 30s, or never"`
}

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
			err = errors.New("is no IP address")
		}
	case "port":
		err = within(n, 65535)
	case "priority":
		err = within(n, 255)
	case "ttl":
		if f.CheckText(f.Name, n.Text) != nil {
			err = errors.New("is neither a duration such as 30s nor never")
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

// within checks an integer from 1. That it is no integer is reported by
// decoding.
func within(n *yamlpos.Node, most int64) error {
	if i, ok := n.Value.(int64); ok && (i < 1 || i > most) {
		return fmt.Errorf("is outside 1-%d", most)
	}
	return nil
}
