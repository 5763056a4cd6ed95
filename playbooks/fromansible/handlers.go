package fromansible

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A handler is a task that others notify. It becomes a resource that subscribes to them, at
// the end of the manifest of their role or play.
type handler struct {
	name     string
	listens  []string
	node     *yaml.Node
	file     string
	counted  bool
	notified bool
}

// A notification is a handler with the entries that notify it.
type notification struct {
	handler *handler
	from    []*layout.Entry
	lost    []string // files of tasks that notify it, which nothing applies
}

func (u *unit) readHandlers(base string) {
	path := u.c.out.From.YAMLFile(base)
	if path == "" {
		return
	}
	n, err := u.c.out.ReadYAML(path)
	if err != nil {
		u.File(path).Leave(1, "file", err.Error())
		return
	}
	u.addHandlers(n, path)
}

func (u *unit) addHandlers(n *yaml.Node, path string) { u.addHandlersOf(n, path, nil) }

// addHandlersOf adds the handlers of a file and of the files that it includes; in holds the including files.
func (u *unit) addHandlersOf(n *yaml.Node, path string, in []string) {
	if slices.Contains(in, path) {
		u.File(path).Leave(1, "file", "a file of handlers that includes itself")
		return
	}
	in = append(slices.Clip(in), path)
	for _, one := range yamlnode.Items(n) {
		if one.Kind != yaml.MappingNode {
			continue
		}
		for _, key := range []string{"import_tasks", "include_tasks", "include", "ansible.builtin.import_tasks", "ansible.builtin.include_tasks"} {
			if file := yamlnode.Get(one, key); file != nil && file.Kind == yaml.ScalarNode && !j2.HasTags(file.Value) {
				if found := u.reader(path).findTasks(file.Value); found != "" {
					if more, err := u.c.out.ReadYAML(found); err == nil {
						u.addHandlersOf(more, found, in)
					}
				}
			}
		}
		h := &handler{node: one, file: path}
		if name := yamlnode.Get(one, "name"); name != nil {
			h.name = name.Value
		}
		for _, l := range yamlnode.Items(yamlnode.Get(one, "listen")) {
			h.listens = append(h.listens, l.Value)
		}
		u.handlers = append(u.handlers, h)
	}
}

// handlersOf returns the handlers of a name, from the role or else from another role.
func (u *unit) handlersOf(name string) []*handler {
	if _, short, ok := strings.Cut(name, " : "); ok {
		name = short
	}
	find := func(u *unit) []*handler {
		var list []*handler
		for _, h := range u.handlers {
			if h.name == name || slices.Contains(h.listens, name) {
				list = append(list, h)
			}
		}
		return list
	}
	if list := find(u); list != nil {
		return list
	}
	for _, dir := range slices.Sorted(maps.Keys(u.c.units)) {
		if list := find(u.c.units[dir]); list != nil {
			return list
		}
	}
	return nil
}

// notifies notes which handlers a task notifies.
func (r reader) notifies(t *task.Task) {
	var from []*layout.Entry
	for _, e := range t.Entries {
		if e.Type != "" || e.IsBlock() {
			from = append(from, e)
		}
	}
	notified := yamlnode.Items(t.Keywords["notify"])
	if from == nil || len(notified) == 0 {
		return
	}
	file := r.f.Path
	for _, m := range r.u.made {
		m.notifies = m.notifies || m.source == file
	}
	for _, one := range notified {
		for _, h := range r.u.handlersOf(one.Value) {
			h.notified = true
			i := slices.IndexFunc(r.u.pending, func(n *notification) bool { return n.handler == h })
			if i < 0 {
				r.u.pending = append(r.u.pending, &notification{handler: h})
				i = len(r.u.pending) - 1
			}
			n := r.u.pending[i]
			if r.u.c.certain.unapplied[file] {
				n.lose(r.u.c.out.Shown(file))
				continue
			}
			n.from = append(n.from, from...)
		}
	}
}

// flush gives the entries of the handlers that are due. before are those of the manifest so
// far: a service among them that stands behind all that notifies its handler subscribes itself.
func (u *unit) flush(before []*layout.Entry) []*layout.Entry {
	var list []*layout.Entry
	for len(u.pending) > 0 {
		at := 0
		for i, n := range u.pending { // in the order in which they are written
			if slices.Index(u.handlers, n.handler) >= 0 && slices.Index(u.handlers, n.handler) < slices.Index(u.handlers, u.pending[at].handler) {
				at = i
			}
		}
		n := u.pending[at]
		u.pending = slices.Delete(u.pending, at, at+1)
		if len(n.from)+len(n.lost) == 0 {
			continue
		}
		list = append(list, u.handled(n, before)...)
	}
	return list
}

func (u *unit) handled(n *notification, before []*layout.Entry) []*layout.Entry {
	counted := n.handler.counted
	u.c.out.Report.Again = counted
	list := u.handlerTask(n.handler)
	u.c.out.Report.Again = false
	var out []*layout.Entry
	if len(n.lost) > 0 {
		f, line := u.File(n.handler.file), n.handler.node.Line
		why := "a handler that is notified in " + strings.Join(n.lost, ", ") + ", which nothing that is carried over includes"
		f.Leave(line, "notify", why)
		if len(n.from) == 0 {
			u.lose(list, n.lost)
			return []*layout.Entry{layout.Todo(f.Position(line), why, n.handler.node)}
		}
		out = append(out, layout.Todo(f.Position(line), why, nil))
	}
	for _, e := range list {
		layout.Walk([]*layout.Entry{e}, func(e *layout.Entry) {
			switch e.Type {
			case "set":
				e.Set("refreshonly", yamlnode.Bool(true))
				e.Subscribe = append(e.Subscribe, n.from...)
			case "exec":
				e.Set("refreshonly", yamlnode.Bool(true))
				e.Drop("readonly")
				e.Subscribe = append(e.Subscribe, n.from...)
			case "reboot":
				e.Set("when", yamlnode.Text("notified"))
				e.Subscribe = append(e.Subscribe, n.from...)
			case "service":
				e.Subscribe = append(e.Subscribe, n.from...)
				if e.Event == "" {
					u.unwritten(e, n, "a handler of a service that only enables it", counted)
				}
			case "":
			default:
				u.unwritten(e, n, "a handler that is neither a command, a service nor a reboot", counted)
			}
		})
		if e.Event != "" && e.Todo == "" && e.Get("each") == nil && e.Get("control") == nil && joinsService(e, n.from, before) {
			continue
		}
		layout.Walk([]*layout.Entry{e}, event)
		out = append(out, e)
	}
	return out
}

// unwritten makes a resource of a handler a todo. The task was counted as carried over, except if an earlier flush counted it.
func (u *unit) unwritten(e *layout.Entry, n *notification, why string, earlier bool) {
	f, line := u.File(n.handler.file), n.handler.node.Line
	e.Todo = f.Position(line) + ": " + why + notifiers(n.from)
	f.Leave(line, "handler", why)
	if !earlier {
		u.c.out.Report.Uncount(u.c.tasks.New(f, n.handler.node, f.Scope(), task.Around{}).Module)
	}
	u.lose([]*layout.Entry{e}, nil) // no handler can subscribe to it
}

// notifiers names the resources that notify a handler, for the person who writes it.
func notifiers(from []*layout.Entry) string {
	var names []string
	for _, e := range from {
		if e.Type != "" {
			names = append(names, e.Type+"#"+e.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; notified by " + strings.Join(names, ", ")
}

// event makes an event of the service of a handler.
func event(e *layout.Entry) {
	if e.Event == "" || e.Todo != "" {
		return
	}
	e.Set("refreshonly", yamlnode.Bool(true))
	e.SetText("action", e.Event)
}

// lose notes a file of tasks that notifies the handler and is never applied.
func (n *notification) lose(file string) {
	if !slices.Contains(n.lost, file) {
		n.lost = append(n.lost, file)
	}
}

// lose removes the notifications of entries that are not written.
func (u *unit) lose(list []*layout.Entry, files []string) {
	for _, n := range u.pending {
		before := len(n.from)
		n.from = slices.DeleteFunc(n.from, func(e *layout.Entry) bool { return slices.Contains(list, e) })
		if len(n.from) < before {
			for _, file := range files {
				n.lose(file)
			}
		}
	}
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
		if h.Event != "restart" && h.Event != "reload" || e.Type != "service" || e.Event != "" || e.Name != h.Name || e.Get("each") != nil || e.Get("control") != nil || len(e.Subscribe) > 0 {
			continue
		}
		if state := e.Get("ensure"); state == nil || state.Value != "running" {
			continue
		}
		e.Subscribe = h.Subscribe
		if h.Event != "restart" {
			e.Set("reload", yamlnode.Bool(true))
		}
		return true
	}
	return false
}

// handlerTask carries over the task that a handler is.
func (u *unit) handlerTask(h *handler) []*layout.Entry {
	h.counted = true
	r := u.reader(h.file)
	if r.folds(h.node, r.f.Scope()) {
		return nil
	}
	return r.task(h.node, r.f.Scope(), task.Around{}, true)
}

// unusedHandlers counts those that nothing notifies, and names them.
func (u *unit) unusedHandlers() {
	for _, h := range u.handlers {
		if h.counted {
			continue
		}
		if e := u.handlerTask(h); len(e) > 0 && e[0].Todo == "" {
			u.c.out.Report.Note(u.c.out.Shown(h.file), h.node.Line, "the handler "+h.name+" is notified by no task that is carried over, and not written")
		}
	}
	u.pending = nil
}
