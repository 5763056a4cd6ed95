package events

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// resultLines prints the line of a resource's result and the lines below it.
type resultLines struct{ *setting }

// tell prints a result.
func (l resultLines) tell(p *page, r Result) {
	switch {
	case l.options.AdHoc && r.Command != nil:
		if !l.options.Quiet || r.Status == Failed {
			l.output(p, r)
		}
	case l.shows(r):
		l.line(p, r)
		l.healthChecks(p, r)
		l.notes(p, r)
		l.failure(p, r)
		l.values(p, r)
		l.diff(p, r)
		l.state(p, r)
	}
}

// shows reports whether a result is worth a line.
func (l resultLines) shows(r Result) bool {
	switch {
	case l.options.Quiet:
		return r.Status == Failed
	case l.options.Verbose > 0, l.options.AdHoc:
		return true
	case r.Status == Skipped:
		return r.Because != "" || l.run.Undoes != "" || slices.ContainsFunc(r.Messages, Note.loud) // name resources that cannot be undone
	case l.run.Monitor && len(r.HealthChecks) > 0:
		return true
	case r.Status == Stable:
		return r.Fetched != "" || slices.ContainsFunc(r.Messages, Note.loud)
	}
	return true
}

// line prints the line with the resource and its outcome.
func (l resultLines) line(p *page, r Result) {
	l.who(p, r.Host)
	p.pad(statusColor(r.Status), statusWord(r), l.statusColumn())
	p.print(plain, reference(r))
	if d := detail(r); d != "" {
		p.print(plain, "  ", d)
	}
	if l.options.Verbose > 0 && l.folding == nil { // it differs from host to host
		p.print(plain, "  ", short(r.Duration))
	}
	p.newline()
}

// statusColumn is as wide as the longest usual status.
func (s *setting) statusColumn() int {
	if s.run.Check {
		return len("would change")
	}
	return len("changed")
}

func statusWord(r Result) string {
	switch {
	case r.WouldFail:
		return "would fail"
	case r.Status == Changed && r.Check:
		return "would change"
	}
	return string(r.Status)
}

func statusColor(s Status) color {
	switch s {
	case Stable:
		return green
	case Changed, Rescued:
		return yellow
	case Skipped:
		return cyan
	}
	return red
}

// reference names a resource as a manifest does, on one line. The name of an
// exec can be a whole script.
func reference(r Result) string {
	ref := r.Type + "#" + shorten(r.Name, 100)
	if r.Alias != "" {
		ref += " (" + r.Alias + ")"
	}
	return Where(ref, r.On)
}

// Where adds to a host, or to a resource that is for it, where that runs, unless that is the host.
func Where(what, on string) string {
	if on == "" {
		return what
	}
	return what + " on " + on
}

// detail returns a result in a few words.
func detail(r Result) string {
	var parts []string
	if what := whatChanged(r); what != "" {
		parts = append(parts, what)
	}
	if r.Left && r.Status == Changed {
		parts = append(parts, "it has left the manifest")
	}
	if r.Cause == Drift {
		parts = append(parts, "drift")
	}
	if because := refreshText(r); because != "" {
		parts = append(parts, because)
	}
	if r.Tries > 1 {
		parts = append(parts, fmt.Sprintf("%d tries", r.Tries))
	}
	if r.Unknown {
		parts = append(parts, "outcome unknown")
	}
	if r.Status.HasFailed() && r.Changed {
		parts = append(parts, "then failed:")
	}
	switch {
	case r.Because != "" && r.Status == Skipped && r.Certain:
		parts = append(parts, "because of "+r.Because)
	case r.Certain, r.Grade == likely, r.WouldFail:
	default:
		parts = append(parts, "maybe")
	}
	return strings.Join(parts, "; ")
}

// whatChanged returns the action, and the changed properties of something that existed before.
func whatChanged(r Result) string {
	// An action of several parts repeats the phrase in each.
	const would = "Would have "
	action := strings.ReplaceAll(r.Message, ". "+would, ", ")
	if rest, predicted := strings.CutPrefix(action, would); predicted {
		action = "would have " + rest
	}
	if r.WouldFail {
		action = strings.TrimPrefix(action, "Would fail ")
	}
	enough := 200
	if r.Status == Skipped {
		enough = 2000 // undo names a call in it, which is to be copied
	}
	action = shorten(action, enough)
	if r.Status == Skipped && r.Because != "" && r.Certain && !r.Due {
		return "" // the reason has it already
	}
	var properties []string
	for _, c := range r.Changes {
		if c.Property == "ensure" {
			return action
		}
		properties = append(properties, change(c))
	}
	list := strings.Join(properties, ", ")
	switch {
	case action == "":
		return list
	case list == "":
		return action
	}
	return action + ": " + list
}

// change returns a property with its values, unless they are uninformative or long.
func change(c Change) string {
	const enough = 24
	if c.Property == "content" || c.Have == c.Want || len(c.Have) > enough || len(c.Want) > enough {
		return c.Property
	}
	return c.Property + " " + value(c.Have) + " -> " + value(c.Want)
}

// refreshText returns that a resource was refreshed, and the cause, unless its message has them: most messages contain
// "restarted via subscribe", and for an earlier run the cause.
func refreshText(r Result) string {
	if !r.Refreshed {
		return ""
	}
	word := "refreshed"
	if r.Check {
		word = "would refresh"
	}
	said := strings.Contains(r.Message, "via subscribe")
	if len(r.RefreshedBy) == 0 || strings.Contains(r.Message, r.RefreshedBy[0]) {
		if said {
			return ""
		}
		return word
	}
	by := shorten(r.RefreshedBy[0], 100)
	if more := len(r.RefreshedBy) - 1; more > 0 {
		by += fmt.Sprintf(" and %d more", more)
	}
	if said {
		return "because of " + by
	}
	return word + " because of " + by
}

// values prints the actual and the desired values of properties.
func (l resultLines) values(p *page, r Result) {
	if !l.options.Diff && l.options.Verbose == 0 {
		return
	}
	for _, c := range r.Changes {
		if c.Property == "content" && r.Diff != "" {
			continue // the diff shows it
		}
		p.print(plain, indent, c.Property, ": ", value(c.Have), " -> ", value(c.Want))
		p.newline()
	}
}

// state prints the state of a resource before and after with -v, and all of it with more -v.
func (l resultLines) state(p *page, r Result) {
	if l.options.Verbose == 0 || r.State == nil {
		return
	}
	before := r.State.Before
	if l.options.Verbose == 1 && len(r.Changes) > 0 {
		before = nil // the changes have the relevant part of it
	}
	for _, part := range []struct {
		name string
		text []byte
	}{{"before: ", before}, {"after: ", r.State.After}} {
		if len(part.text) == 0 {
			continue
		}
		text := string(part.text)
		if l.options.Verbose == 1 {
			text = shorten(text, 200)
		}
		p.block(indent+part.name, text, always(plain))
	}
}

// healthChecks prints the output of health checks in a run of health checks or with -v. Otherwise it prints the output
// of a check that is not OK if it has more than one line: the first line is in the error.
func (l resultLines) healthChecks(p *page, r Result) {
	for _, c := range r.HealthChecks {
		bad := c.Status != "OK"
		if !l.run.Monitor && l.options.Verbose == 0 && !(bad && strings.Contains(c.Output, "\n")) {
			continue
		}
		text, of := c.Status+" "+c.Name, green
		if c.Tries > 1 {
			text += fmt.Sprintf(" (%d tries)", c.Tries)
		}
		if bad {
			of = red
		}
		switch {
		case c.Output == "":
		case bad:
			text += ": " + c.Output
		default:
			text += ": " + shorten(c.Output, 200)
		}
		p.block(indent, text, always(of))
	}
}

func value(s string) string {
	if s == "" {
		return "(none)"
	}
	return shorten(s, 80)
}

func (l resultLines) notes(p *page, r Result) {
	for _, n := range r.Messages {
		c := plain
		switch {
		case n.verbosity() > l.options.Verbose:
			continue
		case n.loud():
			c = yellow
		}
		p.block(indent, n.Level+": "+PlainError(n.Text), always(c))
	}
}

// failure shows the error, and the output of a command that failed or that the
// operator is curious about.
func (l resultLines) failure(p *page, r Result) {
	if !l.run.Monitor || len(r.HealthChecks) == 0 { // which have said it
		text := withoutEvidence(r)
		if r.ErrorKind != "" && r.ErrorKind != "failed" { // printed already
			text += " [" + r.ErrorKind + "]"
		}
		p.block(indent, text, always(red))
	}
	l.hint(p, r)
	if at := r.Written; r.Status.HasFailed() && at != nil {
		err := &yamlpos.Error{File: at.File, Line: at.Line, Column: at.Column, Msg: "the resource is defined here"}
		text := err.Error()
		if l.options.Source != nil {
			text = l.options.Source(err)
		}
		p.block(indent, text, always(plain))
	}
	c := r.Command
	switch {
	case c == nil:
	case l.options.Verbose > 0:
		p.block(indent+"stdout | ", c.Stdout, always(plain))
		p.block(indent+"stderr | ", c.Stderr, always(plain))
	case r.Status.HasFailed():
		stdout, allOut := someLines(c.Stdout)
		stderr, allErr := someLines(c.Stderr)
		p.block(indent+"stdout | ", stdout, always(plain))
		p.block(indent+"stderr | ", stderr, always(plain))
		switch {
		case allOut && allErr:
		case c.StdoutDropped+c.StderrDropped == 0:
			p.block(indent, "(-v shows all of the output)", always(plain))
		default:
			p.block(indent, "(-v shows more of the output)", always(plain))
		}
	}
}

// hint shows what to do about a failure.
func (l resultLines) hint(p *page, r Result) {
	if r.Hint != "" {
		p.block(indent, "hint: "+r.Hint, always(plain))
	}
}

// withoutEvidence returns the error without the last output of the command, with which it may end: that output is shown
// next to it.
func withoutEvidence(r Result) string {
	if r.Command == nil {
		return PlainError(r.Error)
	}
	written := strings.TrimSpace(r.Command.Stderr)
	last := strings.TrimSpace(written[strings.LastIndexByte(written, '\n')+1:])
	if last == "" {
		return PlainError(r.Error)
	}
	return PlainError(strings.TrimSuffix(r.Error, ": "+last))
}

// allowedReturns matches how CCM reports the exit status of a command.
var allowedReturns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`exit code (-?\d+) not in allowed returns \[([-\d, ]*)\]`)
})

// PlainError returns the error of a resource in words for people. Events keep CCM's words.
func PlainError(text string) string {
	text = strings.ReplaceAll(text, "failed to reach desired state: ", "")
	text = strings.ReplaceAll(text, "child manifest had 1 failed resources", "child manifest had 1 failed resource")
	return allowedReturns().ReplaceAllString(text, "exited with status $1, expected $2")
}

// The part of a failed command's output that is shown unasked.
const (
	someLinesMost = 12
	oneLineMost   = 500 // bytes
)

// someLines are the first and the last lines of an output, and whether that is all.
func someLines(s string) (some string, all bool) {
	s = strings.TrimSuffix(s, "\n")
	lines := slices.Clone(excerpt.Lines(strings.Split(s, "\n"), someLinesMost))
	for i, line := range lines {
		lines[i] = excerpt.Of(line, oneLineMost)
	}
	some = strings.Join(lines, "\n")
	return some, some == s
}

// looksLikeOurs finds a line of a command's output that could be taken for one that ccm-push
// itself prints of an ad-hoc call: a heading, a result, a line of the recap.
var looksLikeOurs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(== |std(out|err) \| |ccm-push: |to continue: ` +
		`|(\S+: )?\d+ hosts?: |\S+: \d+ (changed|would change)\b|\S+ +(failed|changed|would change|unreachable|interrupted|untold) {2,})`)
})

// output prints the ad-hoc form: a heading and the whole output of the command. Each line has a prefix if one could be
// mistaken for a line of another host.
func (l resultLines) output(p *page, r Result) {
	c := bold
	if r.Status == Failed {
		c = red
	}
	if l.folding != nil {
		p.adHoc = c
		p.b.WriteString(fmt.Sprintf(": exit %d\n", r.Command.ExitCode))
	} else {
		p.print(c, fmt.Sprintf("== %s: exit %d", r.Host, r.Command.ExitCode))
		p.newline()
	}
	if !l.followed[r.Host] || l.options.Verbose > 0 { // else it has been shown
		prefix := ""
		if looksLikeOurs().MatchString(r.Command.Stdout) {
			prefix = "stdout | "
		}
		p.block(prefix, r.Command.Stdout, always(plain))
		p.block("stderr | ", r.Command.Stderr, always(yellow))
	}
	l.notes(p, r)
	p.block(indent, withoutEvidence(r), always(red))
	l.hint(p, r)
}
