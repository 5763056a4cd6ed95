package playbooks

import (
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// resultEvent is the event for a result. What identifies the resource
// comes from the catalog: a host has no say in it.
func resultEvent(play, host string, c *wire.Catalog, r *wire.Result) events.Result {
	entry := &c.Entries[r.Index]
	e := events.Result{
		Play: play, Host: host,
		Type: entry.Type, Name: entry.Name, Alias: entry.Alias,
		Status:      events.Status(r.Status),
		Check:       c.Check || entry.Check,
		Refreshed:   r.Refreshed,
		RefreshedBy: r.RefreshedBy,
		Certain:     !r.Uncertain,
		Because:     r.Because,
		Message:     r.Message,
		Error:       r.Error,
		Changed:     changedHost(c, r),
		Diff:        r.Diff,
		Duration:    max(0, r.Duration),
		Sensitive:   entry.Sensitive,
		ErrorKind:   string(r.ErrorKind),
		Tries:       r.Tries,
		Killed:      r.Killed,
		Left:        entry.Reversal,
	}
	if idle := c.Monitor || entry.Monitor; idle && len(entry.Health) == 0 && entry.Scope == nil && e.Status == events.Stable {
		e.Status, e.Message = events.Skipped, "has no health checks, so nothing was looked at"
	}
	for _, n := range r.Messages {
		e.Messages = append(e.Messages, events.Note{Level: n.Level, Text: n.Text})
	}
	for _, ch := range r.Changes {
		e.Changes = append(e.Changes, events.Change(ch))
	}
	for i, v := range r.Health {
		e.HealthChecks = append(e.HealthChecks, events.HealthCheck{
			Name: entry.Health[i].Name, Status: string(v.Status), Tries: v.Tries, Output: v.Output,
		})
	}
	addState(&e, r.State)
	if r.Exit != nil {
		out, err := r.Exit.Stdout, r.Exit.Stderr
		e.Command = &events.Command{
			Stdout: out.Text, Stderr: err.Text, ExitCode: r.Exit.Code,
			StdoutDropped: max(0, out.Dropped), StderrDropped: max(0, err.Dropped),
		}
	}
	return e
}
