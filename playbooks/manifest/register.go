package manifest

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// registrations checks the literal values of a list whose shape has been
// decoded, and warns that it has no effect.
func (l *loader) registrations(n *yamlpos.Node) {
	if n == nil || n.Kind != yamlpos.List {
		return
	}
	for _, entry := range n.Items {
		if entry.Kind != yamlpos.Map {
			continue
		}
		for _, f := range modules.Fields(keys.Registration{}) {
			value := given(entry.Get(f.Name))
			switch {
			case value == nil && f.Required:
				l.add(entry.Errorf("", "registration is invalid: %s is required", f.Name))
			case value == nil, value.Kind != yamlpos.Scalar, l.isOpen(value):
			default:
				l.registered(f, value)
			}
		}
	}
	if !l.registers {
		l.registers = true
		l.warn(n, "register_when_stable is checked, and then ignored: a push has no registry to publish to")
	}
}

// registered checks one literal value.
func (l *loader) registered(f modules.Field, n *yamlpos.Node) {
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
		l.add(n.Errorf("", "registration is invalid: %s %q %v", f.Name, n.Text, err))
	}
}

// within checks an integer from 1. That it is no integer is reported by
// decoding.
func within(n *yamlpos.Node, most int64) error {
	if i, ok := n.Value.(int64); ok && (i < 1 || i > most) {
		return fmt.Errorf("is outside 1-%d", most)
	}
	return nil
}
