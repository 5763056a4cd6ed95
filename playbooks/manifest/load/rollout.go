package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// WithRollout replaces each play's rollout settings by a file that contains only the block.
func WithRollout(path string) Option {
	return func(rn *run) { rn.rolloutFile = path }
}

// readRollout reads the file of [WithRollout].
func (rn *run) readRollout(ctx context.Context) error {
	if rn.rolloutFile == "" {
		return nil
	}
	rn.note(rn.rolloutFile)
	data, err := yamlpos.ReadFile(ctx, rn.rolloutFile)
	if err != nil {
		return fmt.Errorf("reading the rollout: %w", err)
	}
	documents, err := yamlpos.Parse(rn.rolloutFile, data, yamlpos.Secrets())
	if err != nil {
		return err
	}
	documents = slices.DeleteFunc(documents, func(n *yamlpos.Node) bool { return keys.Given(n) == nil })
	switch {
	case len(documents) == 0:
		return fmt.Errorf("%s: the file is empty", rn.rolloutFile)
	case len(documents) > 1:
		return documents[1].Errorf("", "a file with a rollout is one document")
	}
	n := documents[0]
	if whole := n.Get("rollout"); whole != nil && len(n.Pairs) == 1 {
		return n.Errorf("remove the line rollout: and unindent the keys below it", `the file must contain the keys of "rollout", not "rollout" itself`)
	}
	var errs yamlpos.Errors
	if n.RefuseSecrets(&errs); len(errs) > 0 {
		return errs.Err()
	}
	rn.rollout = n
	return nil
}

// rollout reads how a play proceeds through its hosts: its own block, unless the command line or an including play
// replaces it, and the keys serial and the like. The rest of the play has been read.
func (f *file) rollout(ctx context.Context, p *manifest.Play, own, over *yamlpos.Node) {
	if own != nil {
		p.Rollout = f.rolloutBlock(ctx, p, own)
	}
	if over = cmp.Or(f.run.rollout, over); over != nil {
		p.Rollout = f.rolloutBlock(ctx, p, over)
		p.Serial, p.MaxFail, p.AnyFatal = nil, nil, false
	}
	p.Inherit()
}

// besideRollout reports keys that set the same as rollout.
func (f *file) besideRollout(n *yamlpos.Node) {
	if keys.Given(n.Get("rollout")) == nil {
		return
	}
	for _, pair := range n.Pairs {
		if hint := insteadOf[pair.Key.Text]; hint != "" && keys.Given(pair.Value) != nil {
			f.report.Add(pair.Key.Errorf(hint, `%q cannot be used together with "rollout"`, pair.Key.Text))
		}
	}
}

// insteadOf maps keys that rollout replaces to the hint about the replacement.
var insteadOf = map[string]string{
	"serial":              "write rollout: {batches: [...]}",
	"max_fail_percentage": "write rollout: {stop: {per_batch: {failed: N%}}}; it stops at this percentage, not above it",
	"any_errors_fatal":    `remove "any_errors_fatal": a rollout stops at the first failed host, unless "stop" sets another limit`,
}

// rolloutBlock reads the block itself.
func (f *file) rolloutBlock(ctx context.Context, p *manifest.Play, n *yamlpos.Node) *manifest.Rollout {
	var k struct {
		Rollout keys.Rollout `json:"rollout" hint:"write keys such as batches: [1, 10%, rest]"`
	}
	f.report.Decode(yamlpos.Under("rollout", n), &k)
	if n.Kind != yamlpos.Map {
		return nil
	}
	r := &manifest.Rollout{At: n}
	r.Batches = f.rolloutBatches(n.Get("batches"))
	r.By = k.Rollout.By
	r.MaxUnavailable = f.amount("max_unavailable", n)
	r.Soak, r.HostDeadline, r.ProgressDeadline = time.Duration(k.Rollout.Soak), time.Duration(k.Rollout.HostDeadline), time.Duration(k.Rollout.ProgressDeadline)
	if stop := keys.Given(n.Get("stop")); stop != nil {
		r.Stop = f.limits(stop)
		if perBatch := keys.Given(stop.Get("per_batch")); perBatch != nil {
			r.PerBatch = f.limits(perBatch)
		}
	}
	r.OnStop = rollout.OnStop(cmp.Or(f.word("on_stop", n, "hold", "end", "undo_batch", "undo_all"), "hold"))
	r.Pause, r.PauseDeadline = f.pause(keys.Given(n.Get("pause")))
	r.Gates = f.gates(p, keys.Given(n.Get("gate")))
	if drain := keys.Given(n.Get("drain")); drain != nil {
		r.Before, r.After = f.drain(ctx, p, "before", drain), f.drain(ctx, p, "after", drain)
	}
	f.checkRollout(n, r)
	return r
}

// checkRollout refuses what cannot be meant.
func (f *file) checkRollout(n *yamlpos.Node, r *manifest.Rollout) {
	soak := keys.Given(n.Get("soak"))
	if by := keys.Given(n.Get("by")); by != nil && f.values.LiteralText("by", by) != nil {
		switch {
		case by.Text == "":
			f.report.Add(by.Errorf("write the name of a variable of the inventory: by: rack", `"by" is empty`))
		case keys.Given(n.Get("max_unavailable")) == nil:
			f.report.Add(by.Errorf(`write "max_unavailable" as well`, `"by" has no effect without "max_unavailable"`))
		}
	}
	switch {
	case r.HostDeadline > 0 && r.Soak >= r.HostDeadline:
		f.report.Add(soak.Errorf(`write a longer "host_deadline", or a shorter "soak"`, `no host could finish: "soak" is %s, but "host_deadline" is %s`, r.Soak, r.HostDeadline))
	case r.ProgressDeadline > 0 && r.Soak >= r.ProgressDeadline:
		f.report.Add(soak.Errorf(`write a longer "progress_deadline", or a shorter "soak"`, `no host could finish in time: "soak" is %s, but "progress_deadline" is %s`, r.Soak, r.ProgressDeadline))
	}
	if stop := keys.Given(n.Get("stop")); stop != nil && keys.Given(n.Get("gate")) == nil {
		for _, limits := range []*yamlpos.Node{stop, stop.Get("per_batch")} {
			if limits != nil && keys.Given(limits.Get("gate")) != nil {
				f.report.Add(limits.Get("gate").Errorf(`write "gate" as well`, `"stop.gate" has no effect without a gate`))
			}
		}
	}
}

// rolloutBatches reads batch sizes. The last one may be the rest.
func (f *file) rolloutBatches(n *yamlpos.Node) []rollout.Amount {
	const hint = `write a number of hosts or a percentage; the last batch can be "rest", for all remaining hosts: batches: [1, 10%, rest]`
	if n = keys.Given(n); n == nil {
		return nil
	}
	items := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		if items = n.Items; len(items) == 0 {
			f.report.Add(n.Errorf(hint, `"batches" is empty`))
		}
	}
	var sizes []rollout.Amount
	for i, item := range items {
		size, ok := amountOf(item)
		isRest := item.Kind == yamlpos.Scalar && item.Text == "rest"
		switch {
		case isRest && i < len(items)-1:
			f.report.Add(item.Errorf(`move "rest" to the end of the list, or remove it`, `no batch can follow "rest", because "rest" contains all remaining hosts`))
		case isRest:
			size.Rest = true
		case !ok:
			f.report.Add(item.Errorf(hint, "%s is not a batch size", item.Describe()))
		}
		sizes = append(sizes, size)
	}
	return sizes
}

// amount reads a key of a map that is a number, or a share; nil if it is not given.
func (f *file) amount(key string, of *yamlpos.Node) *rollout.Amount {
	n := keys.Given(of.Get(key))
	if n == nil {
		return nil
	}
	a, ok := amountOf(n)
	if !ok {
		f.report.Add(n.Errorf(fmt.Sprintf("write a number of hosts, at least 1, or a percentage up to 100%%, such as %s: 3 or %[1]s: 10%%", key), "%q cannot be %s", key, n.Describe()))
	}
	return &a
}

func amountOf(n *yamlpos.Node) (rollout.Amount, bool) {
	size, ok := batchSize(n)
	return rollout.Amount{Count: size.Count, Percent: size.Percent}, ok
}

func (f *file) limits(n *yamlpos.Node) rollout.Limits {
	return rollout.Limits{
		Failed: f.amount("failed", n), Unreachable: f.amount("unreachable", n), Gate: f.amount("gate", n), Restarts: f.amount("restarts", n),
	}
}

// word reads a key of a map that is one of a few words; "" if it is not given, or wrong.
func (f *file) word(key string, of *yamlpos.Node, known ...string) string {
	n := keys.Scalar(of.Get(key))
	switch {
	case n == nil:
		return ""
	case !slices.Contains(known, n.Text):
		f.report.Add(n.Errorf("write "+strings.Join(known, " or "), "%q cannot be %q", key, n.Text))
		return ""
	}
	return n.Text
}

// pause reads whether the operator is prompted between batches, and the time limit of the prompt.
func (f *file) pause(n *yamlpos.Node) (pause bool, deadline time.Duration) {
	if n == nil || yamlpos.Decode(n, &pause) == nil {
		return pause, 0
	}
	var s keys.Seconds
	if n.Kind != yamlpos.Scalar || s.UnmarshalText([]byte(n.Text)) != nil || s == 0 {
		f.report.Add(n.Errorf("write true, or the longest wait: pause: 2h", `"pause" cannot be %s`, n.Describe()))
	}
	return true, time.Duration(s)
}

// gates reads one gate, or a list of them.
func (f *file) gates(p *manifest.Play, n *yamlpos.Node) []*manifest.Gate {
	if n == nil {
		return nil
	}
	items := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		items = n.Items
	}
	var all []*manifest.Gate
	for i, item := range items {
		g := f.gate(p, item, i+1)
		if g == nil {
			continue
		}
		if slices.ContainsFunc(all, func(other *manifest.Gate) bool { return other.Name == g.Name }) {
			f.report.Add(item.Errorf("give it another name", "two gates are called %q", g.Name))
		}
		all = append(all, g)
	}
	return all
}

// gate reads gate number n; nil means none.
func (f *file) gate(p *manifest.Play, n *yamlpos.Node, number int) *manifest.Gate {
	var k struct {
		Gate keys.Gate `json:"gate" hint:"write gate: {check: {command: ...}}"`
	}
	k.Gate.Interval = keys.Seconds(10 * time.Second)
	f.report.Decode(yamlpos.Under("gate", n), &k)
	if n.Kind != yamlpos.Map {
		return nil
	}
	g := &manifest.Gate{
		Name: k.Gate.Name, On: keys.Scalar(n.Get("on")),
		Interval: time.Duration(k.Gate.Interval), Count: 1, FailureLimit: k.Gate.FailureLimit, ErrorLimit: 3,
		Inconclusive: manifest.Inconclusive(cmp.Or(f.word("inconclusive", n, "hold", "stop"), "hold")),
		Untouched:    f.word("compare", n, "untouched") != "",
	}
	if k.Gate.Count != nil {
		g.Count = *k.Gate.Count
	}
	if k.Gate.ErrorLimit != nil {
		g.ErrorLimit = *k.Gate.ErrorLimit
	}
	if g.On != nil && f.values.LiteralText("on", g.On) != nil && g.Untouched {
		f.report.Add(keys.Given(n.Get("compare")).Errorf(`remove the key "on"; then the gate queries each host of the batch, and as many unchanged hosts for comparison`, `"compare" queries hosts of the rollout, but "on" is %s`, g.On.Text))
	}
	f.within("count", n, 1)
	f.within("failure_limit", n, 0)
	f.within("error_limit", n, 0)
	if g.Count > 0 && g.FailureLimit >= g.Count {
		f.report.Add(keys.Given(n.Get("failure_limit")).Errorf(`write a larger "count", or a smaller "failure_limit"`, "the gate would always pass: it makes %d checks, and %d of them may fail", g.Count, g.FailureLimit))
	}
	if name := keys.Scalar(n.Get("name")); name != nil {
		f.values.LiteralText("name", name)
	}
	check := keys.Given(n.Get("check"))
	if check == nil {
		f.report.Add(n.Errorf(`write "check" under "gate", such as check: {command: /usr/lib/nagios/plugins/check_http -H web}`, "the gate has no check"))
		return nil
	}
	g.Name = cmp.Or(g.Name, f.checkName(check), fmt.Sprintf("gate %d", number))
	g.Check = &manifest.Play{}
	if r := f.reader(p, false).Check(g.Name, check); r != nil {
		g.Check.Resources = []*manifest.Resource{r}
	}
	return g
}

// checkName returns the name of a health check; empty if it depends on the host, or is invalid.
func (f *file) checkName(n *yamlpos.Node) string {
	name, command := n.Get("name"), n.Get("command")
	if name != nil && f.values.IsOpen(name) || command != nil && f.values.IsOpen(command) {
		return ""
	}
	var c health.Check
	if yamlpos.Decode(n, &c) != nil {
		return ""
	}
	compiled, err := c.Compile()
	if err != nil {
		return ""
	}
	return compiled.Name
}

// within checks a number of a gate. Decoding reports a value that is not a number.
func (f *file) within(key string, of *yamlpos.Node, least int64) {
	n := keys.Scalar(of.Get(key))
	if n == nil {
		return
	}
	if i, whole := n.Value.(int64); whole && (i < least || i > keys.MaxQuestions) {
		f.report.Add(n.Errorf("", "%[1]q must be from %[3]d to %[4]d, not %[2]d", key, i, least, keys.MaxQuestions))
	}
}

// drain reads resources that run on other hosts before or after a host is changed; nil means none.
func (f *file) drain(ctx context.Context, p *manifest.Play, key string, of *yamlpos.Node) *manifest.Play {
	n := keys.Given(of.Get(key))
	switch {
	case n == nil:
		return nil
	case n.Kind != yamlpos.List:
		f.report.Add(n.Errorf("write a list: - exec: [...]", "%q must be a list of resources, not %s", key, n.Describe()))
		return nil
	case len(n.Items) == 0:
		f.report.Add(n.Errorf("write a list: - exec: [...]", "%q has no resources", key))
		return nil
	}
	resources := f.reader(p, false).List(ctx, n)
	f.checkReferences(resources, false)
	manifest.WalkFile(resources, f.checkDrain)
	return &manifest.Play{Resources: resources}
}

// checkDrain refuses what would not run on another host, or not for each host by itself.
func (f *file) checkDrain(r *manifest.Resource) {
	switch at := r.Name.Node; {
	case r.Block != nil:
	case r.Applies():
		f.report.Add(at.Errorf("write its resources here", "a manifest cannot be applied to drain a host"))
	case len(r.Tags) > 0:
		f.report.Add(at.Errorf(`remove "tags"`, `resources of "drain" cannot have "tags": they run for each host that is changed`))
	case r.Once:
		f.report.Add(at.Errorf(`remove "once"`, "each host is drained separately, so %s cannot run once for all hosts", r.Ref()))
	case r.On == nil:
		f.report.Add(at.Errorf("write on: HOST for a host of the inventory, or on: controller for this machine", `%s has no key "on", but resources under "drain" must run on another host`, r.Ref()))
	}
}
