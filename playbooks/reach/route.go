package reach

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

// Target returns the target for a host of the inventory. conn has the inventory's settings of the host. It returns
// first the errors of ssh_config or of the inventory, then the errors of [Options.Refused]: they are not faults of the
// host.
func (o Options) Target(inv *inventory.Inventory, h *inventory.Host, conn inventory.Connection) (transport.Target, error) {
	if err := o.Refused(inv, h, conn).Err(); err != nil {
		return transport.Target{}, err
	}
	t, _, err := o.explained(inv, h, conn, false)
	return t, err
}

// Explain returns how a host of the inventory is reached, with the reasons, or why it is not.
func (o Options) Explain(inv *inventory.Inventory, h *inventory.Host) (Reached, error) {
	conn := h.Connection()
	if refused := o.Refused(inv, h, conn).Err(); refused != nil {
		return Reached{Host: h.Name, Refused: refused.(yamlpos.Errors)}, nil
	}
	_, reached, err := o.explained(inv, h, conn, true)
	return reached, err
}

func (o Options) explained(inv *inventory.Inventory, h *inventory.Host, conn inventory.Connection, explain bool) (transport.Target, Reached, error) {
	to := route{opts: o, inv: inv, explain: explain}
	if err := to.add(h.Name, conn, jump{JumpHost: inventory.JumpHost{Host: h.Name}}, true); err != nil {
		return transport.Target{}, Reached{}, err
	}
	last := len(to.targets) - 1
	t := to.targets[last]
	if t.Jump = to.targets[:last]; last == 0 {
		t.Jump = nil
	}
	if o.Password != nil && !t.Local {
		t.Password = o.Password
		others := slices.DeleteFunc(to.reasons[last], func(r Reason) bool { return r.Setting == "password" })
		to.reasons[last] = append(others, Reason{"password", []string{fmt.Sprint(o.Password)}, "command line: -k"})
	}
	if !explain {
		return t, Reached{}, nil
	}
	reached := Reached{Host: h.Name, Settings: to.reasons[last]}
	for i, jump := range t.Jump {
		reached.Jump = append(reached.Jump, Reached{Host: jump.Host, Settings: to.reasons[i]})
	}
	return t, reached, nil
}

// A route leads to a host: its jump hosts from the outermost on, then the host itself.
type route struct {
	opts    Options
	inv     *inventory.Inventory
	explain bool
	names   []string // hosts whose jump hosts are being added, for circles
	targets []transport.Target
	reasons [][]Reason
}

// add adds a host; before it its jump hosts, if it is the outermost one.
func (to *route) add(name string, conn inventory.Connection, as jump, outermost bool) error {
	var reasons *[]Reason
	if to.explain {
		reasons = &[]Reason{}
	}
	itself := len(to.names) == 0 // the host that the route leads to
	r, err := to.opts.settings(name, conn, as, reasons)
	if err != nil {
		return err
	}
	if itself {
		r.becomes()
	}
	if outermost && !conn.Local {
		if err := to.addJumps(r, as); err != nil {
			return err
		}
	}
	_, decided := conn.Pos["jump"] // also if the value means none
	if len(to.targets) == 0 && !conn.Local && !decided {
		r.target.ProxyCommand = first(r, "proxy_command", r.option(sshconfig.ProxyCommand))
	}
	to.targets = append(to.targets, r.target)
	if reasons != nil {
		to.reasons = append(to.reasons, *reasons)
	} else {
		to.reasons = append(to.reasons, nil)
	}
	return nil
}

// maxNesting limits the nesting of jump hosts with jump hosts of their own.
const maxNesting = 32

// addJumps adds the jump hosts of a host. Only the first of them may have some of its
// own, as with ssh -J.
func (to *route) addJumps(r *hostSettings, as jump) error {
	if i := slices.Index(to.names, as.Host); i >= 0 {
		circle := strings.Join(append(slices.Clone(to.names[i:]), as.Host), " -> ")
		return &sshconfig.Error{
			At: as.at, Msg: "the jump hosts form a loop: " + circle,
			Hint: fmt.Sprintf("remove the jump host of one of these hosts: for example, write ProxyJump none for %s", as.Host),
		}
	}
	if len(to.names) == maxNesting { // "ProxyJump x-%h" for all hosts has no end
		return &sshconfig.Error{
			At: as.at, Msg: "jump hosts lead to ever more of them: " + strings.Join(to.names[:3], " -> ") + " -> …",
			Hint: "remove the jump host of one of these hosts: for example, write ProxyJump none for " + to.names[1],
		}
	}
	to.names = append(to.names, as.Host)
	defer func() { to.names = to.names[:len(to.names)-1] }()
	if _, decided := r.conn.Pos["jump"]; decided {
		r.note("jump", r.conn.Pos["jump"], jumpTexts(r.conn.Jump)...)
		for i, next := range r.conn.Jump {
			if err := to.addInventoryJump(jump{next, r.conn.Pos["jump"]}, i == 0); err != nil {
				return err
			}
		}
		return nil
	}
	for i, next := range r.ssh.Hops() {
		if i == 0 {
			r.note("jump", r.jumpAt(), r.ssh.Values(sshconfig.ProxyJump)...)
		}
		if err := to.addSSHJump(next, r.jumpAt(), i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *hostSettings) jumpAt() string {
	if at, decided := r.conn.Pos["jump"]; decided {
		return at
	}
	return r.ssh.Origin(sshconfig.ProxyJump)
}

func jumpTexts(jumps []inventory.JumpHost) []string {
	texts := []string{}
	for _, h := range jumps {
		texts = append(texts, h.String())
	}
	if len(texts) == 0 {
		return []string{"none"}
	}
	return texts
}

// addInventoryJump adds a jump host that the inventory names. If it is a host of the inventory, its own settings apply.
func (to *route) addInventoryJump(as jump, outermost bool) error {
	conn, name := inventory.Connection{Address: as.Host}, as.Place()
	if h := to.inv.Host(as.Host); h != nil {
		conn, name = h.Connection(), h.Name
	}
	return to.add(name, conn, as, outermost)
}

// addSSHJump adds a jump host that ssh_config names. The inventory and -u do not apply to it: they are for the hosts.
func (to *route) addSSHJump(hop sshconfig.Hop, at string, outermost bool) error {
	next := inventory.JumpHost{User: hop.User, Host: hop.Host, Port: hop.Port}
	bare := *to
	bare.opts.User = ""
	err := bare.add(next.Place(), inventory.Connection{Address: hop.Host}, jump{next, at}, outermost)
	to.targets, to.reasons = bare.targets, bare.reasons
	return err
}
