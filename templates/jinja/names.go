package jinja

import (
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A magicName is a variable that Ansible sets for its inventory or its run.
type magicName struct {
	root string
	keys []string
	of   func(x *exec, v any) any // nil returns the value itself
}

var magicNames = map[string]magicName{
	"inventory_hostname":       {render.HostRoot, []string{"name"}, nil},
	"inventory_hostname_short": {render.HostRoot, []string{"name"}, func(x *exec, v any) any { return firstLabel(x.str(v)) }},
	"group_names":              {render.HostRoot, []string{"groups"}, nil},
	"groups":                   {render.GroupsRoot, nil, nil},
	"hostvars":                 {render.HostsRoot, nil, nil},
	"play_hosts":               {render.PlayRoot, []string{"hosts"}, nil},
	"ansible_play_hosts":       {render.PlayRoot, []string{"hosts"}, nil},
	"ansible_play_hosts_all":   {render.PlayRoot, []string{"hosts"}, nil},
	"ansible_play_batch":       {render.PlayRoot, []string{"hosts"}, nil},
	"ansible_play_name":        {render.PlayRoot, []string{"name"}, nil},
	"ansible_check_mode":       {render.RunRoot, []string{"check"}, nil},
	"ansible_host":             {render.HostRoot, []string{"name"}, nil},
	"vars":                     {render.DataRoot, nil, nil},
}

func firstLabel(s string) string {
	label, _, _ := strings.Cut(s, ".")
	return label
}

// managed is the value of ansible_managed where the data has no other.
const managed = "Ansible managed"

// lookup returns the value of a name.
func (x *exec) lookup(name string, s *scope) any {
	v, ok, closed := s.find(name)
	switch {
	case ok:
		return v
	case name == "self" && s != nil:
		return &blocks{s.frame}
	case closed:
		if f := globals[name]; f != nil {
			return &function{name, f.apply}
		}
		return &undefined{fault: notDefined(name, nil).WithHint("an imported or included template without context does not see variables; write … with context")}
	}
	if v, ok := x.names[name]; ok {
		return v
	}
	v = x.variable(name)
	x.names[name] = v
	return v
}

// variable returns a variable of the environment.
func (x *exec) variable(name string) any {
	env := x.run.Env
	if name == "item" && env.HasItem {
		return x.wrap(env.Item, "item", &place{root: render.ItemRoot})
	}
	if v, ok := x.registered(name); ok {
		return v
	}
	if _, ok := env.Data[name]; ok {
		v, _ := x.rootDict(render.DataRoot, "").get(x, name)
		return v
	}
	if m, ok := magicNames[name]; ok {
		return x.magic(name, m)
	}
	switch name {
	case "ansible_managed":
		return managed
	case "ansible_facts":
		return &hostVars{kind: factsOfHost, facts: x.facts}
	case "omit":
		return &undefined{fault: diag.Faultf("omit has no meaning in a text")}
	}
	if short, ok := strings.CutPrefix(name, "ansible_"); ok {
		if v, known := x.fact(short, x.facts); known {
			return v
		}
	}
	if f := globals[name]; f != nil {
		return &function{name, f.apply}
	}
	if render.IsRoot(name) && !x.native {
		v, err := x.run.Root(name)
		if err != nil {
			x.throw(err)
		}
		return x.wrap(v, name, &place{root: name})
	}
	return &undefined{fault: notDefined(name, env)}
}

func notDefined(name string, env *render.Env) *diag.Fault {
	f := diag.Faultf("%q is not defined", name)
	if env == nil {
		return f
	}
	if near := diag.DidYouMean(render.SortedKeys(env.Data), name); near != "" {
		return f.WithHint("%s", near)
	}
	return f.WithHint("if it may be missing, write %s | default(…)", name)
}

// rootDict returns a root as a dict.
func (x *exec) rootDict(root, path string) *dict {
	v, err := x.run.Env.Need(root)
	if err != nil {
		x.throw(err)
	}
	m, _ := v.(map[string]any)
	return &dict{src: m, x: x, path: path, at: &place{root: root}}
}

func (x *exec) magic(name string, m magicName) any {
	switch name {
	case "hostvars":
		return &hostVars{kind: allHosts, hosts: x.rootDict(m.root, "hostvars")}
	case "vars":
		return x.rootDict(m.root, "vars")
	}
	d := x.rootDict(m.root, name)
	if len(m.keys) == 0 {
		return d
	}
	v, ok := d.get(x, m.keys[0])
	if !ok {
		return &undefined{fault: diag.Faultf("%s is not known here", name)}
	}
	if m.of != nil {
		return m.of(x, v)
	}
	return v
}

// facts returns the facts of the host.
func (x *exec) facts() *dict { return x.rootDict(render.FactsRoot, "Facts") }

// The kinds of hostVars.
const (
	allHosts    = iota // hostvars
	varsOfHost         // hostvars[NAME]
	factsOfHost        // ansible_facts
)

// hostVars has the variables of hosts: the inventory's, and facts by Ansible's names.
type hostVars struct {
	kind  int
	name  string
	hosts *dict        // hostvars
	vars  *dict        // variables of one host
	facts func() *dict // facts of one host
}

func (h *hostVars) get(x *exec, name string) (any, bool) {
	switch h.kind {
	case allHosts:
		v, ok := h.hosts.get(x, name)
		vars, isDict := v.(*dict)
		if !ok || !isDict {
			return nil, false
		}
		return &hostVars{kind: varsOfHost, name: name, vars: vars, facts: func() *dict {
			facts, ok := vars.get(x, render.FactsKey)
			d, isDict := facts.(*dict)
			if !ok || !isDict {
				x.failf("the facts of the other host are not known")
			}
			return d
		}}, true
	case factsOfHost:
		return x.fact(strings.TrimPrefix(name, "ansible_"), h.facts)
	}
	if v, ok := h.vars.get(x, name); ok && name != render.FactsKey {
		return v, true
	}
	switch name {
	case "inventory_hostname":
		return h.name, true
	case "inventory_hostname_short":
		return firstLabel(h.name), true
	case "ansible_host":
		return h.name, true
	case "ansible_facts":
		return &hostVars{kind: factsOfHost, facts: h.facts}, true
	}
	if short, ok := strings.CutPrefix(name, "ansible_"); ok {
		return x.fact(short, h.facts)
	}
	return nil, false
}
