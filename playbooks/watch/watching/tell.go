package watching

import (
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// judged returns a verdict as the judge gets it. A repair is certain enough if only the outcome of the resource itself is
// uncertain, as with a command. It is also certain enough if a command makes it uncertain that always runs: a repair does not run that.
func (p *watchedPlay) judged(said *Verdict) watch.Verdict {
	v := said.Verdict
	v.Uncertain = v.Uncertain && !slices.Contains(p.unsettled, said.Because)
	return v
}

// tell reports a decision of the judge.
func (w *Watching) tell(p *watchedPlay, e *Entry, o watch.Outcome) {
	play, host := p.Name, o.Key.Host
	w.last = w.Now()
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
		w.Events.Report(told)
	case watch.Repaired, watch.Unmended:
		w.Events.Report(events.Repaired{
			Play: play, Host: host, Type: e.Type, Name: e.Name, Alias: e.Alias, By: w.Options.Run,
			Since: o.Since, Error: o.Error, Next: timeOf(o.Next),
		})
	case watch.Waiting:
		w.Events.Report(events.RepairWaits{
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
		w.Events.Report(told)
	}
}

// timeOf returns t; nil if it is zero.
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
