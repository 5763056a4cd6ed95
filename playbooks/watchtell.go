package playbooks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// A watchedEntry is what is kept of an entry of a catalog under watch.
type watchedEntry struct {
	Type  string       `json:"type"`
	Name  string       `json:"name"`
	Alias string       `json:"alias,omitempty"`
	Ref   string       `json:"ref"` // among those of the play
	Rules *watch.Rules `json:"-"`
	// Sensitive has no values told, Scope stands for others, which are watched themselves, and Counts says that it is watched.
	Sensitive bool `json:"sensitive,omitempty"`
	Scope     bool `json:"scope,omitempty"`
	Counts    bool `json:"counts,omitempty"`
}

// watchedEntries are those of a catalog.
func (r *Runner) watchedEntries(c *catalog.Compiled) []watchedEntry {
	entries := c.Catalog.Entries
	list, refs := make([]watchedEntry, len(entries)), refsOf(&c.Catalog)
	reporting := map[*watch.Rules]*watch.Rules{} // what is told, and not mended
	for i := range entries {
		e, rules := &entries[i], c.WatchRules(i)
		if rules.Mode == watch.Repair && (e.Check || e.Monitor || r.Options.Check) {
			if reporting[rules] == nil {
				one := *rules
				one.Mode = watch.Report
				reporting[rules] = &one
			}
			rules = reporting[rules]
		}
		list[i] = watchedEntry{
			Type: e.Type, Name: e.Name, Alias: e.Alias, Ref: refs[i], Rules: rules, Sensitive: e.Sensitive,
			Scope: e.Scope != nil, Counts: e.Scope == nil && !e.Excluded && !e.Hidden && rules.Mode != watch.Off,
		}
	}
	return list
}

// refsOf are names of the entries of a catalog by which they are known again in another one of the play.
func refsOf(c *wire.Catalog) []string {
	seen := make(map[string]int, len(c.Entries))
	refs := make([]string, len(c.Entries))
	for i := range c.Entries {
		ref := c.Entries[i].Type + "#" + c.Entries[i].Name
		refs[i] = ref
		if seen[ref]++; seen[ref] > 1 { // in another nested manifest
			refs[i] = fmt.Sprintf("%s (%d)", ref, seen[ref])
		}
	}
	return refs
}

// shown is what messages about others call the entry, as [wire.Entry.Ref] has it.
func (e *watchedEntry) shown() string { return e.Type + "#" + cmp.Or(e.Alias, e.Name) }

// verdictOf is a result in the words of the judge. writer is who has changed the resource; nil if that is not known.
func (e *watchedEntry) verdictOf(r *wire.Result, writer *wire.Writer) WatchVerdict {
	out := WatchVerdict{Index: r.Index, Verdict: watch.Verdict{Status: watch.Stable}}
	healthy := !slices.ContainsFunc(r.Health, func(v wire.HealthVerdict) bool { return v.Status != wire.HealthOK })
	if e.Scope && healthy {
		return out
	}
	v := &out.Verdict
	v.Message, v.Error = r.Message, r.Error
	if r.Uncertain && r.Because != e.shown() {
		v.Uncertain, out.Because = true, r.Because
	}
	switch {
	case r.Status == wire.Changed && r.Cause == wire.Notified: // others have drifted, and it follows them
	case r.Status == wire.Changed:
		v.Status = watch.Changed
	case r.Status.HasFailed():
		v.Status = watch.Failed
	}
	switch {
	case writer != nil && writer.Run != "":
		v.Cause = watch.Run
	case r.Cause == wire.Drift:
		v.Cause = watch.Drift
	case r.Cause == wire.Intent:
		v.Cause = watch.Wish
	}
	for _, c := range r.Changes {
		one := watch.Change{Property: c.Property, From: c.Have, To: c.Want}
		if e.Sensitive {
			one.From, one.To = events.Withheld, events.Withheld
		}
		v.Changes = append(v.Changes, one)
	}
	if writer != nil {
		v.Writer = &watch.Writer{Run: writer.Run, Holder: writer.Holder, PID: writer.PID, Program: writer.Program, User: writer.User, Package: writer.Package}
	}
	return out
}

// judged is what the judge gets to hear of a resource. It is certain enough what a repair would do if only its own outcome is not
// known, as that of a command, or if a command would run before it that always would: a repair leaves that alone.
func (p *watchedPlay) judged(said *WatchVerdict) watch.Verdict {
	v := said.Verdict
	v.Uncertain = v.Uncertain && !slices.Contains(p.unsettled, said.Because)
	return v
}

// tell tells what the judge says of a resource.
func (w *watching) tell(p *watchedPlay, e *watchedEntry, o watch.Outcome) {
	play, host := p.play.Name, o.Key.Host
	w.last = w.fleet.runner.Now()
	switch o.Kind {
	case watch.Drifted, watch.Settled:
		v := &o.Verdict
		told := events.Drifted{
			Play: play, Host: host, Type: e.Type, Name: e.Name, Alias: e.Alias, Settled: o.Kind == watch.Settled,
			Status: events.Status(v.Status), Cause: causeOf(v.Cause), Certain: !v.Uncertain, Message: v.Message, Error: v.Error,
			Since: o.Since, Writer: writerOf(v.Writer), Mode: string(o.Mode),
		}
		for _, c := range v.Changes {
			told.Changes = append(told.Changes, events.Change{Property: c.Property, Have: c.From, Want: c.To})
		}
		if told.Settled {
			told.Status = events.Stable
		}
		w.fleet.runner.Events.Report(told)
	case watch.Repaired, watch.Unmended:
		w.fleet.runner.Events.Report(events.Repaired{
			Play: play, Host: host, Type: e.Type, Name: e.Name, Alias: e.Alias, By: w.fleet.runner.Options.Run,
			Since: o.Since, Error: o.Error, Next: timeOf(o.Next),
		})
	case watch.Waiting:
		w.fleet.runner.Events.Report(events.RepairWaits{
			Play: play, Host: host, Type: e.Type, Name: e.Name, Alias: e.Alias, Using: o.Using, Limit: o.Limit, Hosts: len(w.hosts),
			WithinMS: o.Within.Milliseconds(), Next: o.Next,
		})
	case watch.Fighting, watch.Exhausted:
		told := events.Fighting{
			Play: play, Host: host, Type: e.Type, Name: e.Name, Alias: e.Alias, Times: o.Times, WithinMS: o.Within.Milliseconds(),
			Writer: writerOf(o.Verdict.Writer), Next: timeOf(o.Next),
		}
		if o.Kind == watch.Fighting {
			told.Values = o.Values[:]
		}
		w.fleet.runner.Events.Report(told)
	}
}

// timeOf is a time that may be none.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func causeOf(c watch.Cause) events.Cause {
	switch c {
	case watch.Drift:
		return events.Drift
	case watch.Run:
		return events.ByRun
	case watch.Wish:
		return events.Intent
	}
	return ""
}

func writerOf(w *watch.Writer) *events.Writer {
	if w == nil {
		return nil
	}
	return &events.Writer{By: w.Run, Holder: w.Holder, PID: w.PID, Program: w.Program, User: w.User, Package: w.Package}
}
