package watching

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// An Entry is an entry of a catalog under watch.
type Entry struct {
	Type  string       `json:"type"`
	Name  string       `json:"name"`
	Alias string       `json:"alias,omitempty"`
	Ref   string       `json:"ref"` // unique name within the play
	Rules *watch.Rules `json:"-"`
	// Sensitive hides its values. A Scope summarizes other entries, which are watched themselves. Counts marks a watched entry.
	Sensitive bool `json:"sensitive,omitempty"`
	Scope     bool `json:"scope,omitempty"`
	Counts    bool `json:"counts,omitempty"`
}

// Entries returns the entries of a catalog. With check the run repairs nothing.
func Entries(c *catalog.Compiled, check bool) []Entry {
	entries := c.Catalog.Entries
	list, refs := make([]Entry, len(entries)), Refs(&c.Catalog)
	reporting := map[*watch.Rules]*watch.Rules{} // rules that report, and repair nothing
	for i := range entries {
		e, rules := &entries[i], c.WatchRules(i)
		if rules.Mode == watch.Repair && (e.Check || e.Monitor || check) {
			if reporting[rules] == nil {
				one := *rules
				one.Mode = watch.Report
				reporting[rules] = &one
			}
			rules = reporting[rules]
		}
		list[i] = Entry{
			Type: e.Type, Name: e.Name, Alias: e.Alias, Ref: refs[i], Rules: rules, Sensitive: e.Sensitive,
			Scope: e.Scope != nil, Counts: e.Scope == nil && !e.Excluded && !e.Hidden && rules.Mode != watch.Off,
		}
	}
	return list
}

// Refs returns names of the entries of a catalog that are the same in another catalog of the play.
func Refs(c *wire.Catalog) []string {
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

// shown returns the name of the entry in messages about others, see [wire.Entry.Ref].
func (e *Entry) shown() string { return e.Type + "#" + cmp.Or(e.Alias, e.Name) }

// VerdictOf returns a result in the words of the judge. writer is the program that has changed the resource; nil if it is not known.
func (e *Entry) VerdictOf(r *wire.Result, writer *wire.Writer) Verdict {
	out := Verdict{Index: r.Index, Verdict: watch.Verdict{Status: watch.Stable}}
	healthy := !slices.ContainsFunc(r.Health, func(v wire.HealthVerdict) bool { return v.Status != wire.HealthOK })
	if e.Scope && healthy {
		return out
	}
	v := &out.Verdict
	v.Message, v.Error = r.Message, r.Error
	if r.Grade != modules.Certain && r.Because != e.shown() {
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

// StoodWith returns the news of a play that was sent to be watched. results differ from the desired state.
func StoodWith(entries []Entry, results []*wire.Result) *Stood {
	s := &Stood{Entries: entries}
	for _, r := range results {
		s.Verdicts = append(s.Verdicts, entries[r.Index].VerdictOf(r, nil))
	}
	return s
}

// ToldBy returns the news in a message of a host program.
func ToldBy(m *wire.Watched, entries []Entry) *Told {
	t := &Told{Heard: m.Heard, Polled: len(m.Polled)}
	for _, r := range m.Results {
		var writer *wire.Writer
		if i := slices.IndexFunc(m.Writers, func(one wire.Writer) bool { return one.Index == r.Index }); i >= 0 {
			writer = &m.Writers[i]
		}
		t.Verdicts = append(t.Verdicts, entries[r.Index].VerdictOf(r, writer))
	}
	return t
}
