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

// Target says how to reach a host of the inventory. conn is what that says of the host.
// The errors are of ssh_config or of the inventory, then those of [Options.Refused]:
// they are no host's fault.
func (o Options) Target(inv *inventory.Inventory, h *inventory.Host, conn inventory.Connection) (transport.Target, error) {
	if err := o.Refused(inv, h, conn).Err(); err != nil {
		return transport.Target{}, err
	}
	t, _, err := o.explained(inv, h, conn, false)
	return t, err
}

// Explain says how a host of the inventory is reached, and why so, or why it is not.
func (o Options) Explain(inv *inventory.Inventory, h *inventory.Host) (Reached, error) {
	conn := h.Connection()
	if refused := o.Refused(inv, h, conn).Err(); refused != nil {
		return Reached{Host: h.Name, Refused: refused.(yamlpos.Errors)}, nil
	}
	_, reached, err := o.explained(inv, h, conn, true)
	return reached, err
}

func (o Options) explained(inv *inventory.Inventory, h *inventory.Host, conn inventory.Connection, explain bool) (transport.Target, Reached, error) {
	w := way{Options: o, inv: inv, explain: explain}
	if err := w.walk(h.Name, conn, said{Hop: inventory.Hop{Host: h.Name}}, true); err != nil {
		return transport.Target{}, Reached{}, err
	}
	last := len(w.targets) - 1
	t := w.targets[last]
	if t.Jump = w.targets[:last]; last == 0 {
		t.Jump = nil
	}
	if o.Password != nil && !t.Local {
		t.Password = o.Password
		others := slices.DeleteFunc(w.reasons[last], func(r Reason) bool { return r.Setting == "password" })
		w.reasons[last] = append(others, Reason{"password", []string{fmt.Sprint(o.Password)}, "command line: -k"})
	}
	if !explain {
		return t, Reached{}, nil
	}
	reached := Reached{Host: h.Name, Settings: w.reasons[last]}
	for i, hop := range t.Jump {
		reached.Jump = append(reached.Jump, Reached{Host: hop.Host, Settings: w.reasons[i]})
	}
	return t, reached, nil
}

// A way is what leads to a host, from the outermost jump host on.
type way struct {
	Options
	inv     *inventory.Inventory
	explain bool
	names   []string // on the way to what is being looked at, for circles
	targets []transport.Target
	reasons [][]Reason
}

// walk adds a host with what lies before it, unless it is reached through the host
// added last. hop is what the way says of it.
func (w *way) walk(name string, conn inventory.Connection, hop said, outermost bool) error {
	var reasons *[]Reason
	if w.explain {
		reasons = &[]Reason{}
	}
	itself := len(w.names) == 0 // the host that the way leads to
	r, err := w.reach(name, conn, hop, reasons)
	if err != nil {
		return err
	}
	if itself {
		r.becomes()
	}
	if outermost && !conn.Local {
		if err := w.before(r, hop); err != nil {
			return err
		}
	}
	_, decided := conn.Pos["jump"] // also if that is none
	if len(w.targets) == 0 && !conn.Local && !decided {
		r.target.ProxyCommand = first(r, "proxy_command", r.option(sshconfig.ProxyCommand))
	}
	w.targets = append(w.targets, r.target)
	if reasons != nil {
		w.reasons = append(w.reasons, *reasons)
	} else {
		w.reasons = append(w.reasons, nil)
	}
	return nil
}

// maxNesting is how many jump hosts may in turn have jump hosts of their own.
const maxNesting = 32

// before adds the jump hosts of a host. Only the first of them may have some of its
// own, as with ssh -J.
func (w *way) before(r *reach, hop said) error {
	if i := slices.Index(w.names, hop.Host); i >= 0 {
		circle := strings.Join(append(slices.Clone(w.names[i:]), hop.Host), " -> ")
		return &sshconfig.Error{
			At: hop.at, Msg: "jump hosts lead in a circle: " + circle,
			Hint: fmt.Sprintf("one of them has to be reached directly: ProxyJump none for %s", hop.Host),
		}
	}
	if len(w.names) == maxNesting { // "ProxyJump x-%h" for all hosts has no end
		return &sshconfig.Error{
			At: hop.at, Msg: "jump hosts lead to ever more of them: " + strings.Join(w.names[:3], " -> ") + " -> …",
			Hint: "one of them has to be reached directly: ProxyJump none for " + w.names[1],
		}
	}
	w.names = append(w.names, hop.Host)
	defer func() { w.names = w.names[:len(w.names)-1] }()
	if _, decided := r.conn.Pos["jump"]; decided {
		r.note("jump", r.conn.Pos["jump"], hopTexts(r.conn.Jump)...)
		for i, next := range r.conn.Jump {
			if err := w.inventoryHop(said{next, r.conn.Pos["jump"]}, i == 0); err != nil {
				return err
			}
		}
		return nil
	}
	for i, next := range r.ssh.Hops() {
		if i == 0 {
			r.note("jump", r.jumpAt(), r.ssh.Values(sshconfig.ProxyJump)...)
		}
		if err := w.sshHop(next, r.jumpAt(), i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *reach) jumpAt() string {
	if at, decided := r.conn.Pos["jump"]; decided {
		return at
	}
	return r.ssh.Origin(sshconfig.ProxyJump)
}

func hopTexts(hops []inventory.Hop) []string {
	texts := []string{}
	for _, h := range hops {
		texts = append(texts, h.String())
	}
	if len(texts) == 0 {
		return []string{"none"}
	}
	return texts
}

// inventoryHop adds a hop that the inventory names. A host of the inventory is
// reached as the inventory says. What the hop says of itself counts more, also
// than -u.
func (w *way) inventoryHop(hop said, outermost bool) error {
	conn, name := inventory.Connection{Address: hop.Host}, hop.Place()
	if h := w.inv.Host(hop.Host); h != nil {
		conn, name = h.Connection(), h.Name
	}
	return w.walk(name, conn, hop, outermost)
}

// sshHop adds a hop that ssh_config names, where the inventory has no say, and -u
// neither: it is for the hosts.
func (w *way) sshHop(hop sshconfig.Hop, at string, outermost bool) error {
	next := inventory.Hop{User: hop.User, Host: hop.Host, Port: hop.Port}
	bare := *w
	bare.User = ""
	err := bare.walk(next.Place(), inventory.Connection{Address: hop.Host}, said{next, at}, outermost)
	w.targets, w.reasons = bare.targets, bare.reasons
	return err
}
