package module

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// ufwTask carries over a rule about packets that come in.
func ufwTask(t *task.Task) {
	verdict := t.OneOf(t.Arg("rule"), map[string]string{"allow": "accept", "deny": "drop", "reject": "reject"})
	switch direction := t.Arg("direction"); {
	case t.Arg("rule") == nil:
		ufwItself(t)
		return
	case t.Arg("state", "policy", "default", "logging", "log") != nil:
		t.Problem("ufw with a rule, and state, policy or logging: write two tasks")
		return
	case direction != nil && !strings.EqualFold(direction.Value, "in"):
		t.Problem("ufw with a direction other than in")
		return
	}
	e := &layout.Entry{Type: "firewall"}
	port := t.Arg("port", "to_port")
	source := t.Arg("from_ip", "from", "src")
	if source != nil && strings.EqualFold(source.Value, "any") {
		source = nil
	}
	by := t.Arg("interface_in", "if_in", "interface", "if")
	for _, n := range []*yaml.Node{t.Arg("comment"), port, source, by} {
		if n != nil && e.Name == "" {
			e.Name = t.Text(n)
		}
	}
	if e.Name == "" {
		t.Problem("ufw with a rule about everything")
		return
	}
	e.SetText("provider", "ufw")
	if verdict != "accept" {
		e.SetText("action", verdict)
	}
	if port != nil {
		number, ok := portOf(t, port)
		if !ok {
			t.Problem("a port of ufw that is a name: write service: %s", port.Value)
			return
		}
		e.SetText("port", number)
		proto := t.OneOf(t.Arg("proto", "protocol"), map[string]string{"tcp": "tcp", "udp": "udp", "any": "both"})
		if proto == "" {
			proto = "both"
		}
		if proto != "tcp" {
			e.SetText("protocol", proto)
		}
	} else if t.Arg("proto", "protocol") != nil {
		t.Problem("ufw with a protocol and without a port")
		return
	}
	if source != nil {
		e.Set("source", yamlnode.Texts(t.Text(source)))
	}
	t.Put(e, "interface", by)
	if gone, ok := yamlnode.BoolOf(t.Arg("delete")); ok && gone {
		e.SetText("ensure", "absent")
	} else if t.Arg("delete") != nil && !ok {
		t.Problem("delete of ufw that is an expression")
		return
	}
	t.Write(e)
}

// ufwItself carries over what is not a rule: logging, policy and state.
func ufwItself(t *task.Task) {
	logging, policy, state := t.Arg("logging", "log"), t.Arg("policy", "default"), t.Arg("state")
	if logging == nil && policy == nil && state == nil {
		t.Problem("ufw without a rule")
		return
	}
	write := func(command, unless string) {
		e := &layout.Entry{Type: "exec", Name: command}
		e.SetText("unless", unless)
		t.Write(e)
	}
	if logging != nil {
		level := t.OneOf(logging, map[string]string{"on": "low", "true": "low", "yes": "low", "off": "off", "false": "off", "no": "off", "low": "low", "medium": "medium", "high": "high", "full": "full"})
		write("ufw logging "+level, "grep -qx LOGLEVEL="+level+" /etc/ufw/ufw.conf")
	}
	if policy != nil {
		chain, direction := "INPUT", "incoming"
		if d := t.Arg("direction"); d != nil && t.OneOf(d, map[string]string{"in": "in", "incoming": "in", "out": "out", "outgoing": "out"}) == "out" {
			chain, direction = "OUTPUT", "outgoing"
		}
		value := t.OneOf(policy, map[string]string{"allow": "ACCEPT", "deny": "DROP", "reject": "REJECT"})
		write("ufw default "+t.OneOf(policy, map[string]string{"allow": "allow", "deny": "deny", "reject": "reject"})+" "+direction,
			`grep -qx 'DEFAULT_`+chain+`_POLICY="`+value+`"' /etc/default/ufw`)
	}
	if state != nil {
		write("ufw --force "+t.OneOf(state, map[string]string{"enabled": "enable", "disabled": "disable"}),
			"grep -qx ENABLED="+t.OneOf(state, map[string]string{"enabled": "yes", "disabled": "no"})+" /etc/ufw/ufw.conf")
	}
}

// portNames are ports by the names that services(5) has on any system, and that playbooks use.
var portNames = map[string]string{
	"ssh": "22", "smtp": "25", "domain": "53", "http": "80", "https": "443", "pop3": "110", "imap2": "143", "imap": "143", "imaps": "993", "pop3s": "995", "submission": "587", "mysql": "3306", "postgresql": "5432",
}

// portOf is a port, several or a range, as text; false if it is a name that is not known, or may be one.
func portOf(t *task.Task, n *yaml.Node) (number string, ok bool) {
	text := strings.ReplaceAll(t.Text(n), ":", "-")
	if known := portNames[text]; known != "" {
		return known, true
	}
	values := []*yaml.Node{{Value: text}}
	if yamlnode.HasJinja(n) {
		values = nil
		if t.IsLoop() && strings.Contains(n.Value, t.LoopVar()) {
			values = yamlnode.Items(task.Each(t))
		}
	}
	return text, !slices.ContainsFunc(values, func(v *yaml.Node) bool {
		return v.Kind == yaml.ScalarNode && !yamlnode.HasJinja(v) && strings.Trim(v.Value, "0123456789,:-") != ""
	})
}

// firewalldTask carries over a port or a service of a zone.
func firewalldTask(t *task.Task) {
	e := &layout.Entry{Type: "firewall"}
	e.SetText("provider", "firewalld")
	port, service := t.Arg("port"), t.Arg("service")
	switch {
	case port != nil:
		number, proto, ok := cutLast(port.Value, "/")
		if !ok || proto != "tcp" && proto != "udp" || strings.HasSuffix(proto, "}}") {
			t.Problem("a port of firewalld whose protocol is not written: %s", port.Value)
			return
		}
		n := *port
		n.Value = number
		e.Name = t.Text(port)
		e.SetText("port", t.Text(&n))
		if proto == "udp" {
			e.SetText("protocol", proto)
		}
	case service != nil:
		e.Name = t.Text(service)
		t.Put(e, "service", service)
		if !yamlnode.HasJinja(service) {
			t.Refused("firewall", map[string]any{"service": service.Value})
		}
	default:
		t.Problem("firewalld without a port and a service")
		return
	}
	if zone := t.Arg("zone"); zone != nil {
		e.Name = t.Text(zone) + " " + e.Name
		t.Put(e, "zone", zone)
	}
	if state := t.OneOf(t.Arg("state"), map[string]string{"enabled": "present", "disabled": "absent", "present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	for _, name := range []string{"permanent", "immediate"} {
		if b, ok := yamlnode.BoolOf(t.Arg(name)); t.Arg(name) == nil && name == "permanent" || ok && !b {
			t.Note("a rule of firewalld is in force and kept, whatever %s says", name)
		}
	}
	t.Write(e)
}

// iptablesTask carries over a rule of the chain INPUT that says who may reach which port. Others, and what sets up or
// flushes chains, are parts of an order that only the whole of them has.
func iptablesTask(t *task.Task) {
	verdict := t.OneOf(t.Arg("jump"), map[string]string{"accept": "accept", "drop": "drop", "reject": "reject"})
	table, chain := t.Arg("table"), t.Arg("chain")
	switch {
	case chain == nil || chain.Value != "INPUT" || table != nil && table.Value != "filter":
		t.Problem("a rule of iptables that is not one of INPUT: packets that come in")
		return
	case verdict == "":
		t.Problem("a rule of iptables without jump")
		return
	}
	e := &layout.Entry{Type: "firewall"}
	port, source, by := t.Arg("destination_port", "destination_ports"), t.Arg("source"), t.Arg("in_interface")
	for _, n := range []*yaml.Node{port, source, by} {
		for _, one := range yamlnode.Items(n) {
			if strings.Contains(one.Value, "!") || strings.HasSuffix(one.Value, "+") {
				t.Problem("a rule of iptables about all but %s", one.Value)
				return
			}
		}
	}
	var ports []string
	for _, one := range yamlnode.Items(port) {
		number, ok := portOf(t, one)
		if !ok {
			t.Problem("a port of iptables that is a name: write service: %s", one.Value)
			return
		}
		ports = append(ports, number)
	}
	for _, n := range []*yaml.Node{t.Arg("comment"), source, by} {
		if n != nil && e.Name == "" && n.Kind == yaml.ScalarNode {
			e.Name = t.Text(n)
		}
	}
	if t.Arg("comment") == nil && len(ports) > 0 {
		e.Name = strings.Join(ports, ",")
	}
	if e.Name == "" {
		t.Problem("iptables with a rule about everything")
		return
	}
	e.SetText("provider", "nftables")
	if verdict != "accept" {
		e.SetText("action", verdict)
	}
	proto := t.OneOf(t.Arg("protocol"), map[string]string{"tcp": "tcp", "udp": "udp"})
	switch {
	case len(ports) == 0 && t.Arg("protocol") != nil:
		t.Problem("iptables with a protocol and without a port")
		return
	case len(ports) > 0 && proto == "":
		t.Problem("iptables with a port and without a protocol")
		return
	case len(ports) > 0:
		e.SetText("port", strings.Join(ports, ","))
		if proto != "tcp" {
			e.SetText("protocol", proto)
		}
	}
	if source != nil {
		e.Set("source", yamlnode.Texts(t.Text(source)))
	} else {
		t.Note("a rule of iptables; it is about IPv4 and IPv6")
	}
	t.Put(e, "interface", by)
	if state := t.OneOf(t.Arg("state"), presence); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	t.Note("a rule of iptables; it stays after a boot, and stands in a table of nftables")
	t.Write(e)
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
