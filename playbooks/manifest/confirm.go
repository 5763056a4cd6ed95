package manifest

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/templates"
)

// A Confirm configures how a play avoids lockouts: the host itself reverts a change of its login path unless the change
// is confirmed over a new login. The zero value is the default of plays without this setting.
type Confirm struct {
	Mode   wire.ConfirmMode // "" is auto
	Within time.Duration    // without progress and without a confirmation; 0 means [DefaultConfirmWithin]
	Via    *Value           // list of addresses, see [Via]; nil means the address in the inventory
	Boot   bool             // revert unconfirmed changes at the next boot, too
}

// DefaultConfirmWithin is the time limit in plays that set none.
const DefaultConfirmWithin = 60 * time.Second

// A Via is the address of a changed host if it differs from the inventory. Zero fields mean the inventory's values.
type Via struct {
	User string
	Host string
	Port int
}

// String returns the text form of a Via.
func (v Via) String() string {
	text := v.Host
	if v.Port != 0 {
		text = net.JoinHostPort(v.Host, strconv.Itoa(v.Port))
	}
	if v.User != "" {
		return "ssh://" + v.User + "@" + text
	}
	return text
}

const viaHint = "write HOST, HOST:PORT, :PORT or ssh://USER@HOST:PORT"

// ParseVia reads HOST, HOST:PORT, :PORT or ssh://[USER@]HOST[:PORT].
func ParseVia(n *yamlpos.Node) (Via, error) {
	var v Via
	rest, isURL := strings.CutPrefix(n.Text, "ssh://")
	if i := strings.LastIndexByte(rest, '@'); isURL && i >= 0 {
		v.User, rest = rest[:i], rest[i+1:]
		if !isAccount(v.User) {
			return Via{}, n.Errorf(viaHint, "confirm_via: %q names no user", n.Text)
		}
	}
	host, port := pattern.SplitPort(rest)
	if bare, ok := strings.CutPrefix(rest, ":"); ok && !strings.Contains(bare, ":") { // else it is IPv6
		host, port = "", bare
	}
	v.Host = host
	if host != "" && !pattern.IsHostName(host) || host == "" && port == "" {
		return Via{}, n.Errorf(viaHint, "confirm_via: %q is not an address", n.Text)
	}
	if port != "" {
		number, err := strconv.Atoi(port)
		if err != nil || number < 1 || number > 65535 {
			return Via{}, n.Errorf(viaHint, "confirm_via: port %q is not in 1-65535", port)
		}
		v.Port = number
	}
	return v, nil
}

// isAccount reports whether text can be a login name.
func isAccount(text string) bool {
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._@+-", r)
	})
}

// ConfirmVia returns the addresses for one host; none means the address in the inventory.
func (p *Play) ConfirmVia(ctx context.Context, env *templates.Env) ([]Via, error) {
	if p.Confirm.Via == nil {
		return nil, nil
	}
	list, err := p.Confirm.Via.Resolve(ctx, env)
	if err != nil {
		return nil, err
	}
	var all []Via
	var errs yamlpos.Errors
	for _, n := range list.Items {
		if n.Kind != yamlpos.Scalar {
			errs.Add(n.Errorf(viaHint, "confirm_via: %s is not an address", n.Describe()))
			continue
		}
		via, err := ParseVia(n)
		errs.Add(err)
		all = append(all, via)
	}
	return all, errs.Err()
}

// checkConfirmVia refuses addresses that a host has a say in: the controller would dial them, and
// take what answers there for the host.
func (p *Play) checkConfirmVia(seen templates.Taint) error {
	if v := p.Confirm.Via; v != nil && v.FromHost(seen) {
		return v.Node.Errorf("use data of the inventory", "data from a host cannot choose the address that ccm-push connects to")
	}
	return nil
}
