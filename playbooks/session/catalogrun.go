package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// A catalogRun is one catalog in progress on a host. It handles the host's messages about it.
type catalogRun struct {
	session  *Session
	task     Task
	catalog  *wire.Catalog   // catalog of the task
	reported []bool          // reported entries, by number
	known    []bool          // the same for an earlier session whose connection was lost; the host may report them again
	results  int             // so far
	worth    bool            // set if a result, or an earlier run's, has a change or a failure
	removed  bool            // the host has reported the resources that have left the manifest
	acks     []*wire.Message // acknowledgements of the host's reports about earlier catalogs
	untolds  int             // number of earlier catalogs that the host has reported
	halted   bool            // the host has received a stop
	written  int             // bytes of output that has come while commands run
	began    time.Time
	waits    int                 // how often the host has said that it waits for its lock, or does not
	overdue  *Late               // the deadline that has passed; nil if none has
	ended    chan struct{}       // closed at the end of the catalog
	over     bool                // the host has said that it has ended it
	turns    map[int]*share.Turn // turns by the number of the requesting entry
	turning  sync.WaitGroup      // of turns
	armed    map[int]bool        // entries that have requested a second login, by number
	reverts  int                 // number of reports about reverted changes
	fetches  map[int]*fetch      // file transfers by the number of the entry
	needs    map[int]bool        // entries that have requested values of other hosts, or to run on one, by number
}

func newCatalogRun(s *Session, t Task) *catalogRun {
	c := &t.Compiled.Catalog
	// Entries that the host has undone are not part of the play: the host reports them again.
	c.Entries = slices.DeleteFunc(c.Entries, func(e wire.Entry) bool { return e.Reversal })
	reported := make([]bool, len(c.Entries))
	for i := range reported[:min(c.From, len(reported))] {
		reported[i] = true // in the stages before
	}
	return &catalogRun{
		session: s, task: t, catalog: c, reported: reported, known: t.Known, worth: c.From > 0,
		began: time.Now(), turns: map[int]*share.Turn{}, needs: map[int]bool{}, armed: map[int]bool{}, fetches: map[int]*fetch{}, ended: make(chan struct{}),
	}
}

func (c *catalogRun) missing() int {
	n := 0
	for _, seen := range c.reported[:c.end()] {
		if !seen {
			n++
		}
	}
	return n
}

// end is the first entry of the stages to come. A failure that ends the play ends those, too: then
// their entries have results.
func (c *catalogRun) end() int {
	if until := c.catalog.Until; until > 0 && until < len(c.reported) && !slices.Contains(c.reported[until:], true) {
		return until
	}
	return len(c.reported)
}

// handleAll handles messages up to the end of the catalog. done is set when it is over.
func (c *catalogRun) handleAll(ctx context.Context, all []*wire.Message) (done bool, err error) {
	defer c.task.Flush()
	for i, m := range all {
		if done, err := c.handle(ctx, m); done || err != nil {
			c.session.early = all[i+1:]
			return done, err
		}
	}
	return false, nil
}

// handle handles one message. done is set when the catalog is over.
func (c *catalogRun) handle(ctx context.Context, m *wire.Message) (done bool, err error) {
	switch {
	case m.Result != nil:
		return false, c.result(m.Result)
	case m.Want != nil:
		return false, c.want(ctx, m.Want)
	case m.Output != nil:
		return false, c.output(m.Output)
	case m.Locked != nil:
		return false, c.locked(m.Locked.Waits)
	case m.Refused != nil:
		return false, refused(m.Refused, c.catalog.Lock)
	case m.Parse != nil:
		return false, c.parse(m.Parse)
	case m.Semaphore != nil:
		return false, c.turn(ctx, m.Semaphore)
	case m.Import != nil:
		return false, c.need(ctx, m.Import)
	case m.Elsewhere != nil:
		return false, c.elsewhere(ctx, m.Elsewhere)
	case m.Reversals != nil:
		return false, c.remove(m.Reversals)
	case m.Untold != nil:
		return false, c.untold(m.Untold)
	case m.Arm != nil:
		return false, c.arm(ctx, m.Arm)
	case m.Reverted != nil:
		return false, c.reverted(m.Reverted)
	case m.Part != nil:
		return false, c.part(m.Part)
	case m.Watched != nil:
		return false, c.session.watched(m.Watched)
	case m.Done != nil:
		c.over = true
		return true, c.done(m.Done)
	}
	return false, breach("the host sent a message that only the controller sends")
}

// locked forwards that the host waits for its lock, and that it holds it. The host reports each once.
func (c *catalogRun) locked(waits bool) error {
	if c.waits++; c.catalog.Lock == nil || c.results > 0 || waits != (c.waits == 1) || c.waits > 2 {
		return breach("the host speaks of its lock out of turn")
	}
	if c.task.Locked != nil {
		c.task.Locked(waits)
	}
	return nil
}

// output forwards the output of a command. A host limits its rate, since others see the output too; delays of the
// network cannot make it arrive earlier than sent.
func (c *catalogRun) output(o *wire.Output) error {
	switch {
	case c.task.Output == nil:
		return breach("the host sends the output of commands without a request")
	case o.Index < 0 || o.Index >= len(c.reported) || c.reported[o.Index]:
		return breach("the host sends the output of resource %d of %d, or after its result", o.Index, len(c.reported))
	case c.catalog.Entries[o.Index].Sensitive:
		return breach("the host sends the output of a resource that is sensitive")
	}
	c.written += len(o.Text) + max(1, strings.Count(o.Text, "\n"))*wire.OutputLine
	const mostPerSecond = 2 * wire.MaxOutput
	if float64(c.written) > mostPerSecond*(2+time.Since(c.began).Seconds()) {
		return breach("the host sends more than %d KiB of output in a second", mostPerSecond>>10)
	}
	c.task.Output(o)
	return nil
}

// done checks that no resource is missing without a reason.
func (c *catalogRun) done(d *wire.Done) error {
	if d.Armed < 0 || d.Armed > 0 && (c.catalog.Confirm == nil || c.catalog.Check) {
		return breach("the host waits for a confirmation that was not requested")
	}
	if c.task.Armed != nil {
		c.task.Armed(d.Armed)
	}
	n := c.missing()
	switch {
	case n == 0, c.halted:
		return nil
	case d.Stopped: // by a signal, as when the host shuts down
		return fmt.Errorf("the host program was stopped; %d of %d resources are not done", n, len(c.reported))
	}
	return breach("the host is done but has not reported %d of its %d resources", n, len(c.reported))
}

func (c *catalogRun) result(r *wire.Result) error {
	switch {
	case r.Index < 0 || r.Index >= len(c.reported):
		return breach("the host reports resource %d of %d", r.Index, len(c.reported))
	case c.reported[r.Index]:
		return breach("the host reports resource %d twice", r.Index)
	case r.Unknown && !r.Status.HasFailed():
		return breach("the host reports an unknown outcome of resource %d, which has not failed", r.Index)
	case r.Earlier && (!r.Kept || c.catalog.Lock == nil || c.catalog.Lock.Epoch == 0):
		return breach("the host reports resource %d for an earlier run, and this run resumes none", r.Index)
	case r.Registered != nil && !c.catalog.Entries[r.Index].Register:
		return breach("the host sends the withheld values of resource %d without a request", r.Index)
	}
	entry := &c.catalog.Entries[r.Index]
	if r.Fetched && entry.Fetch == 0 {
		return breach("the host reports a fetched file for resource %d, which fetches none", r.Index)
	}
	if err := errors.Join(checkResult(r, len(entry.Health), entry.Query != ""), c.sent(r)); err != nil {
		return err
	}
	c.reported[r.Index] = true
	c.results++
	c.worth = c.worth || r.Status == wire.Changed || r.Status.HasFailed()
	c.release(r.Index)
	if c.told(r) {
		return nil
	}
	c.fetched(r)
	if c.overdue != nil && r.Status == wire.Failed {
		// The host only knows that it received a kill, not that the reason was the time limit.
		r.Killed, r.Overdue = false, true
		r.Error = c.overdue.Error() + strings.TrimSuffix(": "+r.Error, ": "+wire.RunInterrupted)
	}
	c.task.Emit(r)
	return nil
}

// told reports whether a result has arrived in an earlier session. If an entry has run again since, for example because
// another run was applied in between, its new result is reported if it is a change or a failure.
func (c *catalogRun) told(r *wire.Result) bool {
	if r.Index >= len(c.known) || !c.known[r.Index] {
		return false
	}
	done := !c.catalog.Check && !c.catalog.Entries[r.Index].Check && !r.Kept
	return !done || r.Status != wire.Changed && !r.Status.HasFailed()
}

// untold forwards results that an earlier run could not report. They are acknowledged together with the catalog.
func (c *catalogRun) untold(u *wire.Untold) error {
	if c.results > 0 || c.task.Untold == nil {
		return breach("the host reports an earlier run without a request")
	}
	if c.untolds++; c.untolds > wire.MaxUntoldCatalogs {
		return breach("the host reports more than %d catalogs of earlier runs", wire.MaxUntoldCatalogs)
	}
	if c.task.Untold(u) {
		c.acks = append(c.acks, &wire.Message{Ack: &wire.Ack{Run: u.Run, Play: u.Play, For: u.For}})
		c.worth = true
	}
	return nil
}

// acknowledge sends the host the list of arrived results. It waits until the message is sent, since the connection may
// be closed next.
func (c *catalogRun) acknowledge() {
	if o := c.catalog.Once; o != nil && o.For == "" && c.catalog.Lock != nil && c.end() == len(c.reported) { // otherwise it is resumed
		c.acks = append(c.acks, &wire.Message{Ack: &wire.Ack{Run: o.Run, Play: o.Play}})
	}
	if len(c.acks) == 0 {
		return
	}
	if c.worth && !c.task.Sync() { // otherwise the host would never report it
		return
	}
	c.session.tell(c.acks...)
}

// Acknowledge confirms to the host that the controller has the results of catalogs.
func (s *Session) Acknowledge(of ...*wire.Once) {
	var acks []*wire.Message
	for _, o := range of {
		acks = append(acks, &wire.Message{Ack: &wire.Ack{Run: o.Run, Play: o.Play, For: o.For}})
	}
	s.tell(acks...)
}

// tell acknowledges reports that the host need not repeat.
func (s *Session) tell(acks ...*wire.Message) {
	sent := make(chan struct{})
	s.work.Go(func() {
		s.conn.Send(acks...) // if it fails, the host repeats the report
		close(sent)
	})
	select {
	case <-sent:
	case <-s.over:
	case <-time.After(endingTime):
	}
}

// CheckResult checks a result that another machine has read from a session: the host has at most so many health checks.
func CheckResult(r *wire.Result, health int) error {
	if r.Status == wire.Stable { // which hosts omit
		r.Status = ""
	}
	return checkResult(r, health, true)
}

// checkResult checks that a result is allowed for its resource, which has that many health checks. query is set if its
// state is an answer.
func checkResult(r *wire.Result, health int, query bool) error {
	if len(r.Changes) > modules.MaxParts || len(r.Messages) > modules.MaxParts || len(r.RefreshedBy) > modules.MaxParts {
		return breach("the host reports more than %d changes, notes or triggers of one resource", modules.MaxParts)
	}
	if err := errors.Join(checkHealth(r, health), checkState(r, query)); err != nil {
		return err
	}
	switch r.Status {
	case "":
		r.Status = wire.Stable
	case wire.Changed, wire.Skipped, wire.Failed, wire.Rescued:
	default:
		return breach("the host reports the status %.64q", r.Status)
	}
	if !r.Grade.Valid() {
		return breach("the host reports the grade %.64q", r.Grade)
	}
	if r.Unmet && r.Status != wire.Skipped {
		return breach("the host reports an unmet requirement of a resource that is %s", r.Status)
	}
	return checkCause(r)
}

// checkHealth checks the verdicts of a result against the number of requested health checks.
func checkHealth(r *wire.Result, asked int) error {
	if len(r.Health) > asked {
		return breach("the host reports %d health checks of a resource that has %d", len(r.Health), asked)
	}
	for _, v := range r.Health {
		switch v.Status {
		case wire.HealthOK, wire.HealthWarning, wire.HealthCritical, wire.HealthUnknown:
		default:
			return breach("the host reports the answer %.64q to a health check", v.Status)
		}
	}
	return nil
}

// remove adds resources to the catalog that the host reports as removed from the manifest and undone, or as reverted
// from an earlier run. The host may report them once.
func (c *catalogRun) remove(left *wire.Reversals) error {
	if c.removed {
		return breach("the host reports twice which resources it undoes")
	}
	if c.catalog.Undo == nil {
		if err := c.mayRemove(left); err != nil {
			return err
		}
	}
	c.removed = true
	for _, e := range left.Entries {
		c.catalog.Entries = append(c.catalog.Entries, wire.Entry{Type: e.Type, Name: e.Name, Sensitive: e.Sensitive, Reversal: true})
	}
	c.reported = append(c.reported, make([]bool, len(left.Entries))...)
	return nil
}

// mayRemove refuses resources that cannot have left the manifest. The host may report them only for a play that it was
// to remember, after it has reported all current entries of the play. It may name none of those entries, and nothing
// twice.
func (c *catalogRun) mayRemove(left *wire.Reversals) error {
	m := c.catalog.Remember
	switch {
	case m == nil, !m.Whole, c.catalog.Monitor:
		return breach("the host undoes resources without a request")
	case len(left.Entries) > wire.MaxReversals:
		return breach("the host undoes %d resources, and remembers %d at most", len(left.Entries), wire.MaxReversals)
	case c.missing() > 0:
		return breach("the host undoes something before it has reported %d of its %d resources", c.missing(), len(c.reported))
	}
	here := map[string]bool{}
	for _, ref := range m.Kept {
		here[ref] = true
	}
	for i := range c.catalog.Entries {
		here[c.catalog.Entries[i].Type+"#"+c.catalog.Entries[i].Name] = true
	}
	for _, e := range left.Entries {
		if ref := e.Type + "#" + e.Name; here[ref] {
			return breach("the host undoes %.64q, which the play has, or twice", ref)
		}
		here[e.Type+"#"+e.Name] = true
	}
	return nil
}

// checkCause checks the cause and the reason of a result. Only a change has a cause, and only a skip has a reason.
func checkCause(r *wire.Result) error {
	if r.Reason != "" && (r.Status != wire.Skipped || !slices.Contains(wire.SkipReasons(), r.Reason)) {
		return breach("the host reports the reason %.64q of a resource that is %s", r.Reason, r.Status)
	}
	switch r.Cause {
	case "":
		return nil
	case wire.Intent, wire.Drift, wire.Notified, wire.Undone:
		if r.Status == wire.Changed || r.Status.HasFailed() {
			return nil
		}
		return breach("the host reports the cause %s of a resource that is %s", r.Cause, r.Status)
	}
	return breach("the host reports the cause %.64q", r.Cause)
}

// Limits of the state that a host may report for a resource.
const (
	maxState  = 256 << 10 // bytes of each of its parts
	maxAnswer = wire.MaxFromHost
	maxTries  = 1_000_000
)

// checkState checks the size of the reported state and changes of a resource. query is set if the state is an answer,
// which may be longer.
func checkState(r *wire.Result, query bool) error {
	switch r.ErrorKind {
	case "", modules.ErrorUnknown, modules.ErrorForbidden, modules.ErrorFailed:
	default:
		return breach("the host reports the kind of error %.64q", r.ErrorKind)
	}
	if r.Tries < 0 || r.Tries > maxTries {
		return breach("the host reports %d tries", r.Tries)
	}
	s := r.State
	if s == nil {
		return nil
	}
	most := maxState
	if query {
		most = maxAnswer
	}
	if len(s.Before) > most || len(s.After) > most {
		return breach("the host reports a state of more than %d KiB", most>>10)
	}
	for _, what := range s.Restart {
		if len(what) > most {
			return breach("the host reports a thing to restart of more than %d KiB", most>>10)
		}
	}
	return nil
}
