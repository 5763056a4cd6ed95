package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog/sets"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// results has the results of a host's resources with register, as far as they are known when the host is compiled.
// Compilation runs in stages, see [Compiler.Next].
type results struct {
	had    []*wire.Result // results by entry, from earlier stages
	called map[string]*registered
	shown  *templates.Inventory // inventory in which expressions find them
	sets   *sets.Values
	until  int // first entry that depends on results of this stage; 0 means none

	part *part              // part of the current resource
	list *manifest.Resource // resource whose each is handled as a whole: its elements are excluded, or not known
}

// A part is a group of resources that ends at the first failure: of a manifest with that setting, or of a block.
type part struct {
	block bool // else it is a manifest, which a skip because of a requirement does not end
}

// manifestPart returns a new part if a failure ends the manifest; else nil.
func manifestPart(failOnError bool) *part {
	if !failOnError {
		return nil
	}
	return new(part)
}

// endedBy reports whether a result ends the part.
func (p *part) endedBy(r *wire.Result) bool {
	return p != nil && (r.Status.HasFailed() || p.block && r.WentWrong())
}

// A registered has the value under one name: the result of one entry, or of the entries of an each.
type registered struct {
	list    bool
	entries []int
	values  []any // of them
	// Entries without a complete result: pending ones run in this stage, unknown ones are only predicted, and silent
	// ones have an outcome but no output.
	pending, unknown, silent []int

	secret bool  // one of them is sensitive
	failed *part // the part that one of them has ended; nil if none has
}

// register registers the result of entry number i under the name that its resource has.
func (x *expansion) register(r *manifest.Resource, e *wire.Entry, i int, env *templates.Env) {
	if r.Register == nil {
		return
	}
	one := x.results.called[r.Register.Text]
	if r.Each == nil {
		one = x.results.begin(r.Register.Text, false)
	}
	defer x.results.show()
	e.Register = !e.Excluded
	one.secret = one.secret || e.Sensitive
	one.entries = append(one.entries, i)
	value := map[string]any{"type": e.Type, "name": e.Name}
	if x.results.list != r {
		one.values = append(one.values, value)
	}
	if env.HasItem {
		value["item"] = env.Item
	}
	switch {
	case e.Excluded:
		came(value, r.Type, &wire.Result{Status: wire.Skipped, Message: "excluded by control"}, false)
	case i >= len(x.results.had) || x.results.had[i] == nil:
		one.pending = append(one.pending, i)
	default:
		result := x.results.had[i]
		if x.results.part.endedBy(result) {
			one.failed = x.results.part
		}
		switch {
		case result.Grade != modules.Certain:
			one.unknown = append(one.unknown, i)
		case result.Check && result.Status == wire.Changed:
			one.silent = append(one.silent, i)
		}
		came(value, r.Type, result, e.Sensitive)
		if e.Sensitive {
			for _, key := range []string{"stdout_trimmed", "stderr"} {
				if text, ok := value[key].(string); ok && text != "" {
					x.compiler.opts.Mask.Add(strings.TrimSpace(text))
				}
			}
		}
	}
}

// begin starts the value of a name, which replaces the value of an earlier resource.
func (s *results) begin(name string, list bool) *registered {
	if s.called == nil {
		s.called = map[string]*registered{}
	}
	one := &registered{list: list}
	s.called[name] = one
	s.show()
	return one
}

// show has expressions see the results so far.
func (s *results) show() { s.shown.Results = templates.NewLazy(s.values) }

// values are the results by name.
func (s *results) values() map[string]any {
	all := map[string]any{}
	for name, one := range s.called {
		switch {
		case one.list:
			all[name] = slices.Clone(one.values)
		case len(one.values) > 0:
			all[name] = one.values[0]
		}
	}
	return all
}

// Fields of a result. A resource has the last ones only after it ran; the outcome of a predicted resource is known,
// too.
var (
	outcomeFields = []string{"changed", "failed", "item", "name", "skipped", "status", "type"}
	saidFields    = []string{"error", "exit_code", "message", "state", "stderr", "stdout", "stdout_lines", "stdout_trimmed"}
)

// came copies the fields of a result into a value.
func came(value map[string]any, t modules.Type, r *wire.Result, sensitive bool) {
	status := cmp.Or(r.Status, wire.Stable)
	value["status"] = string(status)
	value["changed"], value["failed"], value["skipped"] = status == wire.Changed, status.HasFailed(), status == wire.Skipped
	value["message"], value["error"] = r.Message, r.Error
	exit, state := r.Exit, r.State
	lost := sensitive && exit != nil && r.Registered == nil
	if r.Registered != nil {
		exit, state = r.Registered.Exit, r.Registered.State
	}
	if state != nil && state.Last() != nil {
		if plain, err := plainJSON(state.Last()); err == nil {
			value["state"] = plain
		}
	}
	_, command := t.New().(modules.Sender)
	switch {
	case lost:
		noOutput(value, "run again", "the output of %s was lost with the connection: hosts do not store secrets")
	case exit != nil:
		putOutput(value, exit)
	case command:
		noOutput(value, "check first: Results.NAME.changed, or Results.NAME.skipped", "%s ran no command, so it has no output: it is "+string(status))
	}
}

// noOutput has it be an error to use the output of a command.
func noOutput(value map[string]any, hint, format string) {
	silent := templates.Unusable(hint, format, fmt.Sprint(value["type"], "#", value["name"]))
	for _, key := range []string{"stdout", "stdout_trimmed", "stdout_lines", "stderr", "exit_code"} {
		value[key] = silent
	}
}

// putOutput puts what a command has written into a value.
func putOutput(value map[string]any, exit *modules.Exit) {
	value["exit_code"] = int64(exit.Code)
	value["stdout"], value["stderr"] = output(value, "stdout", exit.Stdout), output(value, "stderr", exit.Stderr)
	value["stdout_trimmed"], value["stdout_lines"] = value["stdout"], value["stdout"]
	text, ok := value["stdout"].(string)
	if !ok {
		return
	}
	text = strings.TrimRight(text, "\r\n")
	lines := []any{}
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	value["stdout_trimmed"], value["stdout_lines"] = text, lines
}

// output returns the output of a command, or the error of using truncated output.
func output(value map[string]any, stream string, o modules.Output) any {
	if o.Dropped > 0 {
		return templates.Unusable("make the command print less",
			"%s#%s wrote more to %s than the %d KiB that are kept, so it cannot be used", value["type"], value["name"], stream, modules.MaxOutput>>10)
	}
	return o.Text
}

// plainJSON decodes JSON into plain values.
func plainJSON(text json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return templates.Plain(v)
}

// mentions returns the names of existing results among inputs, and whether more than the outcome is read. If that
// cannot be known, it returns all names.
func (s *results) mentions(in templates.Inputs) map[string]bool {
	paths, all := in.Results()
	if len(s.called) == 0 {
		return nil
	}
	more, any := in.NamedResults()
	if paths, all = slices.Concat(paths, more), all || any; !all && len(paths) == 0 {
		return nil
	}
	named := map[string]bool{}
	for name := range s.called {
		if all {
			named[name] = true
		}
	}
	for _, path := range paths {
		name, rest, _ := strings.Cut(path, ".")
		field, _, _ := strings.Cut(rest, ".")
		if one := s.called[name]; one != nil {
			named[name] = named[name] || one.list || !slices.Contains(outcomeFields, field)
		}
	}
	return named
}

// awaited returns the entries with unknown results on which inputs depend, in a scope: first the entries that will run,
// with pending set, else the entries that are only predicted.
func (s *results) awaited(inputs templates.Inputs, in *scope) (entries []int, pending bool) {
	d := in.view.Doubts(s.sets, inputs, in.values)
	for name, said := range s.mentions(inputs) {
		one := s.called[name]
		d = d.And(sets.Doubt{Pending: one.pending, Unknown: one.unknown})
		if said {
			d.Unknown = append(d.Unknown, one.silent...)
		}
		if in.part != nil && one.failed == in.part { // its readers are skipped
			d.Unknown = append(d.Unknown, one.entries...)
		}
	}
	if entries, pending = d.Pending, len(d.Pending) > 0; !pending {
		entries = d.Unknown
	}
	slices.Sort(entries)
	return slices.Compact(entries), pending
}

// any reports whether a resource may depend on results, directly or by values that are set because of them.
func (s *results) any() bool { return len(s.called) > 0 || s.sets.Any() }

// doubt notes that entries decide what a resource, or the resources that it applies, set.
func (s *results) doubt(r *manifest.Resource, entries []int, pending bool) {
	d := sets.Doubt{Unknown: entries}
	if pending {
		d = sets.Doubt{Pending: entries}
	}
	manifest.Walk([]*manifest.Resource{r}, func(r *manifest.Resource, _ int) {
		for _, v := range r.PropertySet().SetValues() {
			s.sets.Doubt(v.Key.Text, d)
		}
	})
}

// failed notes that a resource has an error, which errors of its readers would only repeat.
func (s *results) failed(r *manifest.Resource) {
	s.doubt(r, []int{0}, true)
	if r.Register != nil && r.Each == nil {
		s.begin(r.Register.Text, false).pending = []int{0}
	}
}

// secrets reports whether the result of a sensitive resource is among inputs.
func (s *results) secrets(in templates.Inputs) bool {
	for name := range s.mentions(in) {
		if s.called[name].secret {
			return true
		}
	}
	return false
}

// A resultUse lists the results that a resource reads, by its syntax trees.
type resultUse struct {
	all, control, each, vars templates.Inputs
	shown                    []shownInputs
}

// resultUse is the same for all hosts.
func (c *Compiler) resultUse(r *manifest.Resource, in *scope) *resultUse {
	if known, ok := c.resultUses.Load(r); ok {
		return known.(*resultUse)
	}
	u := &resultUse{all: r.Inputs(in.env.Files), control: r.ControlInputs(in.env.Files)}
	if r.Vars != nil {
		u.vars = r.Vars.Inputs()
	}
	if r.Each != nil {
		u.each = r.Each.Inputs(in.env.Files)
	}
	for _, v := range r.Shown() {
		if v.HasExpressions() {
			u.shown = append(u.shown, shownInputs{v.Node, v.Inputs(in.env.Files)})
		}
	}
	if in.manifest.play.JetFile == nil { // else it is of this host alone
		c.resultUses.Store(r, u)
	}
	return u
}

// listAwaits reports whether the list of an each is made of results that are not known.
func (x *expansion) listAwaits(r *manifest.Resource, in *scope) bool {
	if !x.results.any() {
		return false
	}
	use := x.compiler.resultUse(r, in)
	return !x.known(use.each, in) || !x.known(use.vars, in)
}

// controlAwaits is listAwaits for control.
func (x *expansion) controlAwaits(r *manifest.Resource, in *scope) bool {
	if !x.results.any() {
		return false
	}
	use := x.compiler.resultUse(r, in)
	return !x.known(use.control, in) || !x.known(use.vars, in)
}

// known reports whether all results are known that are among inputs.
func (x *expansion) known(inputs templates.Inputs, in *scope) bool {
	entries, _ := x.results.awaited(inputs, in)
	return len(entries) == 0
}

// await makes the entry of a resource that depends on unknown results, if it does. awaits is set if there is such an
// entry, or an error. i is its number; -1 means none.
func (x *expansion) await(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env) (i int, awaits bool) {
	if !x.results.any() && len(in.awaits) == 0 {
		return 0, false
	}
	inputs := x.compiler.resultUse(r, in).all
	return x.awaitOf(ctx, r, in, env, inputs)
}

// awaitOf is await for a resource that reads these inputs.
func (x *expansion) awaitOf(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env, inputs templates.Inputs) (i int, awaits bool) {
	entries, pending := x.results.awaited(inputs, in)
	if len(entries) == 0 {
		entries, pending = in.awaits, in.pending
	}
	if len(entries) == 0 {
		return 0, false
	}
	use := x.compiler.resultUse(r, in)
	knownValue := func(v *manifest.Value) bool { return v == nil || x.known(v.Inputs(env.Files), in) }
	whole := x.results.list != r && x.known(use.vars, in) // else it stands for a list, or nothing of it is known
	if whole && x.known(use.control, in) {
		switch ok, err := managed(ctx, r, env); {
		case err != nil:
			x.errs.Add(err)
			return -1, true
		case !ok:
			return x.exclude(ctx, r, in, env), true
		}
	}
	var errs yamlpos.Errors
	e := wire.Entry{Type: r.Type.Name, Name: r.Name.Node.Text, Once: r.Once, Awaits: entries}
	if whole && knownValue(&r.Name) {
		e.Name = text(ctx, &r.Name, env, &errs)
	} else {
		x.draft.names.unknown(r.Type.Name, "", "")
		x.notWhole()
	}
	if whole && knownValue(r.Alias) {
		e.Alias = text(ctx, r.Alias, env, &errs)
	}
	e.Sensitive = x.ofSecretResults(r, in) || x.compiler.useOf(r, in, env).secret || r.Sensitive != nil && (!whole || !knownValue(r.Sensitive) || boolean(ctx, r.Sensitive, env, &errs))
	if whole && knownValue(r.Noop) {
		e.Check = boolean(ctx, r.Noop, env, &errs)
	}
	o := origin{resource: r, watch: in.watch}
	if whole && knownValue(r.Meta) {
		own, err := meta(ctx, r, env)
		errs.Add(err)
		e.Hidden, e.Reverse, e.NoHistory, e.Confirm = own.Hidden, own.Reverse, own.NoHistory, own.Confirm
		o.watch = in.watched(own.Watch, &errs)
	}
	for _, key := range r.Exports {
		e.Export = append(e.Export, key.Text)
	}
	if whole && !slices.ContainsFunc(r.OrderLists(), func(l manifest.OrderList) bool { return !knownValue(l.Value) }) && knownValue(r.Recv) {
		var err error
		o.refs, err = x.refer(ctx, r, env, &e)
		errs.Add(err)
	}
	in.inherit(&e)
	if len(errs) > 0 {
		x.errs.Add(errs.Err())
		return -1, true
	}
	if made, i := x.awaitWithin(ctx, r, in, env, e, o, pending, whole); made {
		return i, true
	}
	x.leaveOutNested(r)
	if x.results.doubt(r, entries, pending); pending && x.results.until == 0 {
		x.results.until = len(x.draft.entries)
	}
	shown := in.shown(r, env)
	for _, k := range entries {
		if k < len(x.draft.entries) { // else the resource that registers it has an error, and no entry
			shown.Awaits = append(shown.Awaits, x.draft.entries[k].Ref())
		}
	}
	return x.add(e, o, shown), true
}

// awaitWithin expands a block, or a nested manifest, if only its control is unknown: its resources are known, and also
// the refreshes among them.
func (x *expansion) awaitWithin(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env, e wire.Entry, o origin, pending, whole bool) (made bool, i int) {
	nested := r.Child != nil && r.Child.JetFile == nil && x.known(r.Child.Data.Inputs(), in) // a block has one as well
	if !whole || !nested || !x.known(r.Name.Inputs(env.Files), in) || !x.known(r.Properties.Inputs(env.Files), in) {
		return false, 0
	}
	within := *in
	within.awaits, within.pending = e.Awaits, pending
	if e.Awaits = nil; r.Block != nil {
		return true, x.block(ctx, r, &within, env, e, o)
	}
	return true, x.nested(ctx, r, &within, env, e, o, !in.noEdges)
}

// ofSecretResults refuses names that are made of the results of a sensitive resource, and reports
// whether anything of the resource is.
func (x *expansion) ofSecretResults(r *manifest.Resource, in *scope) (secret bool) {
	if len(x.results.called) == 0 {
		return false
	}
	use := x.compiler.resultUse(r, in)
	for _, part := range use.shown {
		if x.results.secrets(part.inputs) || part.inputs.Item() && x.results.secrets(use.each) {
			x.errs.Add(part.at.Errorf("use such a result only in properties and health checks; ccm-push always prints names, aliases, conditions and messages", "ccm-push would print the result of a sensitive resource here"))
		}
	}
	return x.results.secrets(use.all)
}
