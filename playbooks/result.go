package playbooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
)

// outputEvent returns the event for the output of a command.
func outputEvent(play, host string, c *wire.Catalog, o *wire.Output) events.Output {
	entry := &c.Entries[o.Index]
	e := events.Output{
		Play: play, Host: host, Type: entry.Type, Name: entry.Name, Alias: entry.Alias,
		Stream: events.Stdout, Text: o.Text, Dropped: o.Dropped,
	}
	if o.Stderr {
		e.Stream = events.Stderr
	}
	return e
}

// resultEvent returns the event for a result. The identity of the resource comes from the catalog: a host cannot change
// it. checks are the health checks that the host received.
func resultEvent(play, host string, c *wire.Catalog, checks []wire.HealthCheck, r *wire.Result) events.Result {
	entry := &c.Entries[r.Index]
	e := events.Result{
		Play: play, Host: host,
		Type: entry.Type, Name: entry.Name, Alias: entry.Alias,
		Status:      events.Status(r.Status),
		Check:       c.Check || entry.Check,
		Cause:       events.Cause(r.Cause),
		Refreshed:   r.Refreshed,
		RefreshedBy: r.RefreshedBy,
		Certain:     r.Grade == modules.Certain,
		Because:     r.Because,
		WouldFail:   r.WouldFail,
		Reason:      string(r.Reason),
		Message:     r.Message,
		Error:       r.Error,
		Changed:     changedHost(c, r),
		Diff:        r.Diff,
		Duration:    max(0, r.Duration),
		Sensitive:   entry.Sensitive,
		ErrorKind:   string(r.ErrorKind),
		Tries:       r.Tries,
		Killed:      r.Killed,
		Unknown:     r.Unknown,
		Left:        entry.Reversal && c.Undo == nil,
		Index:       r.Index,
		Kept:        r.Kept,
		Earlier:     r.Earlier,
	}
	if e.Check || !e.Certain {
		e.Grade = r.Grade.String()
	}
	if idle := c.Monitor || entry.Monitor; idle && len(checks) == 0 && entry.Scope == nil && e.Status == events.Stable {
		e.Status, e.Reason, e.Message = events.Skipped, "no_health_checks", "has no health checks, so nothing was looked at"
	}
	for _, n := range r.Messages {
		e.Messages = append(e.Messages, events.Note{Level: n.Level, Text: n.Text})
	}
	for _, ch := range r.Changes {
		e.Changes = append(e.Changes, events.Change(ch))
	}
	for i, v := range r.Health[:min(len(r.Health), len(checks))] {
		e.HealthChecks = append(e.HealthChecks, events.HealthCheck{
			Name: checks[i].Name, Status: string(v.Status), Tries: v.Tries, Output: v.Output,
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

// noteFacts adds the facts that the diff of a result contains. With them equal diffs of hosts are printed once.
func (p *hostPlay) noteFacts(e *events.Result) {
	if e.Diff == "" || e.Sensitive {
		return
	}
	paths, all := p.of.compiler.Facts()
	if all {
		paths = []string{"host.info.hostname"}
	}
	found := map[string]string{}
	for _, path := range paths {
		if text, err := templates.Lookup(p.program.facts, path); err == nil {
			if s, ok := text.(string); ok {
				found[path] = s
			}
		}
	}
	e.Facts = events.FactsIn(e.Diff, found)
}

// unknownHint is the hint at a result whose outcome is unknown.
func unknownHint(e *events.Result) string {
	return fmt.Sprintf("check the outcome of the command on %s; ccm-push resume runs the command again only if the resource has rerun: true", cmp.Or(e.On, e.Host))
}

// Bounds of the reported state of a resource.
const (
	maxStateDepth = 100
	maxRestarts   = 64
	maxRestart    = 1 << 10 // bytes of one
)

// jsonDepth returns the nesting depth of JSON.
func jsonDepth(text json.RawMessage) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}', c == ']':
			now--
		}
	}
	return deepest
}

// addState puts the state that a host reports into an event. Parts that are too large for readers are omitted, with a
// note.
func addState(e *events.Result, s *modules.State) {
	if s == nil {
		return
	}
	leaveOut := func(what string) {
		e.Messages = append(e.Messages, events.Note{Level: "warning", Text: what})
	}
	switch {
	case s.Before == nil && s.After == nil:
	case max(jsonDepth(s.Before), jsonDepth(s.After)) > maxStateDepth:
		leaveOut(fmt.Sprintf("its state is omitted: it is nested more than %d levels deep", maxStateDepth))
	default:
		e.State = &events.ResourceState{Before: wellFormed(s.Before), After: wellFormed(s.After)}
	}
	for _, what := range s.Restart {
		if len(e.Restart) == maxRestarts || len(what) > maxRestart || jsonDepth(what) > maxStateDepth {
			leaveOut("further restarts that it reports are omitted: there are too many, or they are too large")
			break
		}
		e.Restart = append(e.Restart, wellFormed(what))
	}
}

// wellFormed is JSON whose texts are UTF-8: encoding/json takes others too.
func wellFormed(text json.RawMessage) json.RawMessage {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}

// uncompiledText returns the warning about a refresh that is due in a resource which could not be compiled.
func uncompiledText(ref string, err error) string {
	first, more := err, 0
	if errs, several := errors.AsType[yamlpos.Errors](err); several && len(errs) > 0 {
		first, more = errs[0], len(errs)-1
	}
	text, _, _ := strings.Cut(first.Error(), "\n")
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return fmt.Sprintf("%s cannot be compiled for this host; the next run that can compile it does the refresh: %s", ref, text)
}
