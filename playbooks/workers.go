package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/templates"
)

// Workers run plays on hosts for a [Runner]. The Runner decides when each host begins, and prints the results.
type Workers interface {
	// Take runs a turn of a host at a worker, and returns its end. Results are sent to the stream of the run before
	// Take returns. stop and ctx end the turn as they end [Runner.Run]. handler answers the questions of the worker,
	// and checks its reports. [process] and [query] call Take with each type of request.
	Take(ctx context.Context, stop <-chan struct{}, t Turn, handler TurnHandler) TurnEnd
	// Enter checks, before the run begins, whether hosts accept the login of workers; turns have a
	// [LoginRequest] for each host. It fails if every host that was tried refuses. It returns nil if the run must end.
	Enter(ctx context.Context, stop <-chan struct{}, turns []Turn) error
}

// enter finds out whether workers get into the hosts of the plays.
func (r *Runner) enter(ctx context.Context, stop <-chan struct{}, plays [][]*inventory.Host) error {
	if r.Workers == nil {
		return nil
	}
	var turns []Turn
	known := map[*inventory.Host]bool{}
	for number, hosts := range plays {
		for _, h := range hosts {
			if !known[h] {
				turns = append(turns, Turn{Request: LoginRequest{}, Host: h.Name, Play: number})
			}
			known[h] = true
		}
	}
	return r.Workers.Enter(ctx, stop, turns)
}

// EnterAll finds out whether workers get into any of some hosts. The first signal on stop ends it, without an error.
func (r *Runner) EnterAll(ctx context.Context, stop <-chan struct{}, hosts []*inventory.Host) error {
	return r.enter(ctx, stop, [][]*inventory.Host{hosts})
}

// HostNames has the data that expressions read of hosts that the inventory of a worker lacks.
type HostNames struct {
	Groups map[string][]string         `json:"groups,omitempty"` // names, of each
	Plays  [][]string                  `json:"plays,omitempty"`  // likewise
	Hosts  map[string]yamlpos.Portable `json:"hosts,omitempty"`  // variables of each host, without secrets
	// Secrets reports that a variable of any host is marked as secret.
	Secrets bool `json:"secrets,omitempty"`
}

func (n *HostNames) groupValues() map[string]any {
	groups := make(map[string]any, len(n.Groups))
	for name, hosts := range n.Groups {
		groups[name] = plainTexts(hosts)
	}
	return groups
}

// withHosts returns hosts with the variables of the other hosts added.
func (n *HostNames) withHosts(hosts map[string]any) map[string]any {
	if n == nil {
		return hosts
	}
	for name, vars := range n.Hosts {
		if _, known := hosts[name]; known || vars.Node == nil {
			continue
		}
		values := make(map[string]any, len(vars.Pairs))
		for _, p := range vars.Pairs {
			values[p.Key.Text] = variableValue(p.Key.Text, p.Value)
		}
		hosts[name] = values
	}
	return hosts
}

// withheldTag is the YAML tag in place of secrets of other hosts, which workers do not get.
const withheldTag = "!withheld"

// othersVariables returns the variables of all hosts, without their secrets.
func othersVariables(inv *inventory.Inventory) map[string]yamlpos.Portable {
	all := map[string]yamlpos.Portable{}
	for _, h := range inv.Hosts() {
		vars := &yamlpos.Node{Kind: yamlpos.Map}
		latest := inventory.MergeLayers(h.Layers())
		for _, name := range slices.Sorted(maps.Keys(latest)) {
			vars.Pairs = append(vars.Pairs, yamlpos.Pair{Key: &yamlpos.Node{Text: name, Value: name}, Value: withheld(latest[name])})
		}
		all[h.Name] = yamlpos.Portable{Node: vars}
	}
	return all
}

// withheld is a value without the secrets in it.
func withheld(n *yamlpos.Node) *yamlpos.Node {
	if !n.Secret && n.Sealed == nil && n.Kind == yamlpos.Scalar {
		return n
	}
	out := *n
	if n.Kind == yamlpos.Scalar {
		return &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Secret: true, Sealed: &yamlpos.Sealed{Tag: withheldTag}}
	}
	out.Items = make([]*yamlpos.Node, len(n.Items))
	for i, item := range n.Items {
		out.Items[i] = withheld(item)
	}
	out.Pairs = make([]yamlpos.Pair, len(n.Pairs))
	for i, p := range n.Pairs {
		out.Pairs[i] = yamlpos.Pair{Key: p.Key, Value: withheld(p.Value)}
	}
	return &out
}

// Needs has the data that workers get in addition to the plays and their hosts: the data that expressions read.
type Needs struct {
	Names   HostNames
	Environ bool // the environment of the controller
	Folders []catalog.FolderUse
}

// forWorkers finds out what workers need.
func (r *Runner) forWorkers(compilers []*catalog.Compiler, parts []*parts, hosts [][]string) {
	if r.Workers == nil {
		return
	}
	for i, c := range compilers {
		r.partForWorkers(c, hosts)
		for _, part := range parts[i].all() {
			r.partForWorkers(part, hosts)
		}
	}
}

// partForWorkers adds the needs of a play, or of a part of its rollout; nil adds nothing.
func (r *Runner) partForWorkers(c *catalog.Compiler, hosts [][]string) {
	if c == nil {
		return
	}
	needs := &r.Needs.Names
	r.Needs.Folders = append(r.Needs.Folders, c.FolderUses()...)
	r.Needs.Environ = r.Needs.Environ || c.Reads(templates.EnvironRoot)
	if c.Reads(templates.GroupsRoot) && needs.Groups == nil {
		needs.Groups = map[string][]string{}
		for _, g := range r.Inventory.Groups() {
			needs.Groups[g.Name] = names(g.Hosts())
		}
	}
	if c.Reads(templates.PlayRoot) {
		needs.Plays = hosts
	}
	if c.Reads(templates.HostsRoot) && needs.Hosts == nil {
		needs.Hosts = othersVariables(r.Inventory)
		needs.Secrets = slices.ContainsFunc(r.Inventory.Layers(), func(l inventory.Layer) bool { return l.Node.Secret })
	}
}

// errKilled is the error of a host whose turn was killed at the end of the run.
var errKilled = fmt.Errorf("the run was ended: %w", context.Canceled)

// A toldFailure is the failure of a host, as a worker has reported it.
type toldFailure struct{ event events.Event }

func (f *toldFailure) Error() string { return events.FailureText(f.event) }

// err returns the error of the turn, equal to the error of a host without a worker.
func (e TurnEnd) err() error {
	switch {
	case e.Failure != nil && e.Killed:
		return errors.Join(&toldFailure{e.Failure.Event}, errKilled)
	case e.Failure != nil:
		return &toldFailure{e.Failure.Event}
	case e.Killed:
		return errKilled
	case e.Stopped:
		return &stoppedError{rest: e.Rest, phase: e.Phase}
	}
	return nil
}

// goesAway reports whether a worker processes the host. The controller itself never has a worker.
func (p *hostPlay) goesAway() bool { return p.runner.Workers != nil && !p.state.controller }

// A hostRequest is a request whose result has the type R. Do processes it on a host of this machine.
type hostRequest[R any] interface {
	do(ctx context.Context, p *hostPlay) (R, error)
}

// process processes a request on a host, here or at a worker.
func process[R any](ctx context.Context, p *hostPlay, q hostRequest[R]) (result R, err error) {
	if !p.goesAway() {
		return q.do(ctx, p)
	}
	if p.interrupted(ctx) {
		return result, &stoppedError{}
	}
	return resultOf[R](p.away(ctx, q))
}

// A hostQuery is a request about a host alone. Read processes it on this machine.
type hostQuery[R any] interface {
	read(ctx context.Context, r *Runner, h *inventory.Host) (R, error)
}

// query processes a query of a host, here or at a worker. The play names its reason, from 0.
func query[R any](ctx context.Context, r *Runner, stop <-chan struct{}, h *inventory.Host, play int, q hostQuery[R]) (result R, err error) {
	if r.Workers == nil {
		ctx, cancel := stoppable(ctx, stop)
		defer cancel()
		return q.read(ctx, r, h)
	}
	if isStopped(ctx, stop) {
		return result, &stoppedError{}
	}
	t := Turn{Request: q, Host: h.Name, Play: play}
	return resultOf[R](r.Workers.Take(ctx, stop, t, NoQuestions{t}))
}

// resultOf returns the result of a turn, as far as there is one, and its error.
func resultOf[R any](end TurnEnd) (result R, err error) {
	err = end.err()
	if len(end.Result) > 0 || err == nil {
		if wrong := decodeStrictly(end.Result, &result); wrong != nil {
			err = errors.Join(err, wrong)
		}
	}
	return result, err
}

// away processes a request about the play at a worker.
func (p *hostPlay) away(ctx context.Context, q Request) TurnEnd {
	state, number := p.state, p.of.number
	defer state.activity.Pin("waiting for a worker")()
	var plays []int
	for _, later := range state.plays {
		plays = append(plays, later.number)
	}
	t := Turn{
		Request: q, Host: state.host.Name, Play: number, Predicted: len(state.predicted) > 0, Follow: p.followed[state.host.Name],
		Step: p.runner.Step != nil && p.of.first == state.host.Name, Left: p.runner.left(state.host.Name, append(plays, number)...), At: state.activity.Repin,
	}
	for i, later := range plays {
		if i > 0 && plays[0] == number { // otherwise the host has finished the play, or does not have it
			t.Later = append(t.Later, later)
		}
	}
	began := p.runner.Now()
	end := p.handOver(ctx, p.stop, t)
	state.times.queued = max(0, p.runner.Now().Sub(began)-end.Took)
	if end.Begun {
		state.begin()
	}
	if end.Failed {
		state.fail()
	}
	if end.Predicted {
		state.predicted = append(state.predicted, &hostProgram{})
	}
	state.times.phases.Connect += end.Phases.Connect
	state.times.phases.Start += end.Phases.Start
	state.times.phases.Compile += end.Phases.Compile
	state.times.phases.Apply += end.Phases.Apply
	state.times.steps = append(state.times.steps, end.Steps...)
	return end
}

// handOver sends a turn to a worker, and answers its questions.
func (p *hostPlay) handOver(ctx context.Context, stop <-chan struct{}, t Turn) TurnEnd {
	answers, closed := p.answering(ctx, t)
	end := p.runner.Workers.Take(ctx, stop, t, answers)
	closed(end.Failure != nil || end.Killed)
	return end
}

// fan has the hosts of a queue begin. Workers bound how many each is at, and --forks how many all of them are.
func (r *Runner) fan(q *share.Queue, hosts int) {
	if r.Workers == nil {
		r.fly(q)
		return
	}
	q.Run(hosts, cmp.Or(r.Options.Forks, hosts))
}
