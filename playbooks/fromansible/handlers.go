package fromansible

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A handler is a task that others notify. It becomes a resource that subscribes to them, at
// the end of the manifest of their role or play.
type handler struct {
	name    string
	listens []string
	node    *yaml.Node
	file    string
	counted bool
}

// A notification is a handler with what has notified it.
type notification struct {
	handler *handler
	from    []*layout.Entry
}

func (c *converter) readHandlers(r *role, base string) {
	path := yamlFile(base)
	if path == "" {
		return
	}
	n, err := c.readYAML(path)
	if err != nil {
		c.out.Report.left(c.shown(path), 1, "file", err.Error())
		return
	}
	c.addHandlers(r, n, path)
}

func (c *converter) addHandlers(r *role, n *yaml.Node, path string) {
	for _, one := range yamlnode.Items(n) {
		if one.Kind != yaml.MappingNode {
			continue
		}
		for _, key := range []string{"import_tasks", "include_tasks", "include", "ansible.builtin.import_tasks", "ansible.builtin.include_tasks"} {
			if file := yamlnode.Get(one, key); file != nil && file.Kind == yaml.ScalarNode && !j2.HasTags(file.Value) {
				before := c.taskFile
				c.taskFile = path
				if found := c.findTasks(file.Value); found != "" {
					if more, err := c.readYAML(found); err == nil {
						c.addHandlers(r, more, found)
					}
				}
				c.taskFile = before
			}
		}
		h := &handler{node: one, file: path}
		if name := yamlnode.Get(one, "name"); name != nil {
			h.name = name.Value
		}
		for _, l := range yamlnode.Items(yamlnode.Get(one, "listen")) {
			h.listens = append(h.listens, l.Value)
		}
		r.handlers = append(r.handlers, h)
	}
}

// handlersOf are those that a name means: of the role, or of any other.
func (c *converter) handlersOf(name string) []*handler {
	if _, short, ok := strings.Cut(name, " : "); ok {
		name = short
	}
	find := func(r *role) []*handler {
		var list []*handler
		for _, h := range r.handlers {
			if h.name == name || slices.Contains(h.listens, name) {
				list = append(list, h)
			}
		}
		return list
	}
	if list := find(c.role); list != nil {
		return list
	}
	for _, dir := range sortedKeys(c.roles) {
		if list := find(c.roles[dir]); list != nil {
			return list
		}
	}
	return nil
}

// checkNotify reports handlers that are not there.
func (t *task) checkNotify() {
	for _, one := range yamlnode.Items(t.keywords["notify"]) {
		switch {
		case j2.HasTags(one.Value):
			t.problem("the name of a handler that is an expression: %s", expression.Shortened(one.Value))
		case len(t.c.handlersOf(one.Value)) == 0:
			t.problem("the handler %q, which is not there", one.Value)
		}
	}
}

// notifies notes which handlers a task notifies.
func (t *task) notifies() {
	var from []*layout.Entry
	for _, e := range t.entries {
		if e.Type != "" || e.IsBlock() {
			from = append(from, e)
		}
	}
	if from == nil {
		return
	}
	r := t.c.role
	for _, one := range yamlnode.Items(t.keywords["notify"]) {
		for _, h := range t.c.handlersOf(one.Value) {
			i := slices.IndexFunc(r.pending, func(n *notification) bool { return n.handler == h })
			if i < 0 {
				r.pending = append(r.pending, &notification{handler: h})
				i = len(r.pending) - 1
			}
			r.pending[i].from = append(r.pending[i].from, from...)
		}
	}
}

// flush gives the entries of the handlers that are due. before are those of the manifest so
// far: a service among them that stands behind all that notifies its handler subscribes itself.
func (c *converter) flush(r *role, before []*layout.Entry) []*layout.Entry {
	var list []*layout.Entry
	for len(r.pending) > 0 {
		at := 0
		for i, n := range r.pending { // in the order in which they are written
			if slices.Index(r.handlers, n.handler) >= 0 && slices.Index(r.handlers, n.handler) < slices.Index(r.handlers, r.pending[at].handler) {
				at = i
			}
		}
		n := r.pending[at]
		r.pending = slices.Delete(r.pending, at, at+1)
		list = append(list, c.handled(n, before)...)
	}
	return list
}

func (c *converter) handled(n *notification, before []*layout.Entry) []*layout.Entry {
	file := c.taskFile
	c.taskFile = n.handler.file
	c.out.Report.uncount = n.handler.counted
	n.handler.counted = true
	scope := &expression.Scope{Names: map[string]expression.Binding{}, Files: c}
	list := c.task(n.handler.node, scope, inherited{}, true)
	c.out.Report.uncount = false
	c.taskFile = file
	var out []*layout.Entry
	for _, e := range list {
		layout.Walk([]*layout.Entry{e}, func(e *layout.Entry) {
			switch e.Type {
			case "exec":
				e.Set("refreshonly", yamlnode.Bool(true))
				e.Drop("readonly")
				e.Subscribe = append(e.Subscribe, n.from...)
			case "reboot":
				e.Set("when", yamlnode.Text("notified"))
				e.Subscribe = append(e.Subscribe, n.from...)
			case "service":
				e.Subscribe = append(e.Subscribe, n.from...)
			case "":
			default:
				e.Todo = position(c.shown(n.handler.file), n.handler.node.Line) + ": a handler that is neither a command, a service nor a reboot"
			}
		})
		if e.Type == "service" && e.Get("each") == nil && e.Get("control") == nil && joinsService(e, n.from, before) {
			continue
		}
		out = append(out, e)
	}
	return out
}

// joinsService has a service that stands behind all of from subscribe to it.
func joinsService(h *layout.Entry, from, before []*layout.Entry) bool {
	last := -1
	for i, e := range before {
		layout.Walk([]*layout.Entry{e}, func(one *layout.Entry) {
			if slices.Contains(from, one) {
				last = i
			}
		})
	}
	found := 0
	for _, e := range before {
		layout.Walk([]*layout.Entry{e}, func(one *layout.Entry) {
			if slices.Contains(from, one) {
				found++
			}
		})
	}
	if last < 0 || found != len(from) {
		return false
	}
	for _, e := range before[last+1:] {
		if e.Type != "service" || e.Name != h.Name || e.Get("each") != nil || e.Get("control") != nil || len(e.Subscribe) > 0 {
			continue
		}
		if state := e.Get("ensure"); state == nil || state.Value != "running" {
			continue
		}
		e.Subscribe = h.Subscribe
		if h.Get("reload") != nil {
			e.Set("reload", yamlnode.Bool(true))
		}
		return true
	}
	return false
}

// unusedHandlers counts those that nothing notifies, and names them.
func (c *converter) unusedHandlers(r *role) {
	for _, h := range r.handlers {
		if h.counted {
			continue
		}
		h.counted = true
		file := c.taskFile
		c.taskFile = h.file
		scope := &expression.Scope{Names: map[string]expression.Binding{}, Files: c}
		if e := c.task(h.node, scope, inherited{}, true); len(e) > 0 && e[0].Todo == "" {
			c.out.Report.note(c.shown(h.file), h.node.Line, "the handler "+h.name+" is notified by no task that is carried over, and not written")
		}
		c.taskFile = file
	}
	r.pending = nil
}
