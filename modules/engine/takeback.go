package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// An undone describes an entry of a catalog that undoes a run.
type undone struct {
	change  *notes.Change
	refresh bool   // it is refreshed again, and nothing else
	force   bool   // also if it has changed since the run
	lost    string // why it cannot be reverted: it is not in the record
}

// TakeBack creates the entries of a catalog that undoes a run (see [wire.Undo]): the last change first, and after all
// changes the resources to refresh again. It is called before Run for every catalog. An error explains why nothing of
// the run can be undone.
func (e *Engine) TakeBack(cat *wire.Catalog) error {
	e.undone = nil
	if cat.Undo == nil {
		return nil
	}
	if e.Past == nil {
		return errNothingKept
	}
	changes, damage, err := notes.ReadPast(e.Past, cat.Undo.Run)
	switch {
	case err != nil:
		return err
	case len(changes) == 0 && damage == "" && cat.Undo.Maybe && len(cat.Undo.Changed) == 0:
		return nil
	case len(changes) == 0 && damage == "":
		return errNothingKept
	}
	b := &takingBack{cat: cat, unconfirmed: e.Unconfirmed}
	cat.Entries = nil
	b.lost(changes, damage)
	if u := e.Unconfirmed; u != nil {
		changes = changes[min(max(0, u.First-1), len(changes)):]
	}
	var services []*notes.Change // to be started, after their files
	for _, c := range slices.Backward(changes) {
		if cat.Lock != nil && c.UndoneBy == cat.Lock.Run { // that run may not have reported it
			c.UndoneBy = ""
		}
		switch {
		case !b.meant(c):
		case c.Reversal != nil && ranBefore(c):
			services = append(services, c)
		default:
			b.add(c)
		}
	}
	for _, c := range services {
		b.add(c)
	}
	if len(cat.Entries) == 0 && len(cat.Undo.Only) > 0 && !cat.Undo.Maybe { // else it has only refreshed something
		return fmt.Errorf("the run has changed nothing here of %s", strings.Join(cat.Undo.Only, ", "))
	}
	for _, c := range changes {
		b.refresh(c)
	}
	e.undone = b.all
	return nil
}

// errNothingKept is why a run cannot be undone.
var errNothingKept = modules.Refuse("this host has no record of the run: the run changed nothing on this host, had history: false, or is too old")

// A takingBack makes a catalog that undoes a run.
type takingBack struct {
	cat         *wire.Catalog
	all         []undone // by entry
	unconfirmed *Unconfirmed
}

// meant reports whether to revert a change.
func (b *takingBack) meant(c *notes.Change) bool {
	only, u := b.cat.Undo.Only, b.unconfirmed
	if u != nil && len(c.Before) > 0 && c.Left == nil {
		c.Cannot = "" // it may say so until the change was complete
	}
	if u != nil && u.Starting && c.Type == "service" {
		return false
	}
	if c.Cannot == "" && c.Reversal == nil && len(c.Before) == 0 && (c.Left != nil || len(c.Refreshes) > 0) { // only refreshed
		return false
	}
	return len(only) == 0 || slices.ContainsFunc(only, c.Is)
}

// lost adds an entry for each resource that the run reported as changed on this host, and that
// has no note; and one entry for a damaged history.
func (b *takingBack) lost(changes []*notes.Change, damage string) {
	add := func(c *notes.Change, why string) {
		b.cat.Entries, b.all = append(b.cat.Entries, b.entry(c)), append(b.all, undone{change: c, lost: why})
	}
	if damage != "" {
		add(&notes.Change{Type: "history", Name: b.cat.Undo.Run}, damage)
	}
	for _, ref := range b.cat.Undo.Changed {
		typ, name, _ := strings.Cut(ref, "#")
		c := &notes.Change{Type: typ, Name: name}
		is := func(other *notes.Change) bool { return other.Is(ref) }
		if slices.ContainsFunc(changes, is) || len(b.cat.Undo.Only) > 0 && !slices.Contains(b.cat.Undo.Only, ref) {
			continue
		}
		add(c, "left unchanged: the run has changed it, but the record of that run does not contain it")
	}
}

// add adds an entry that takes a change back.
func (b *takingBack) add(c *notes.Change) {
	e := b.entry(c)
	e.Properties = c.Reversal
	b.cat.Entries, b.all = append(b.cat.Entries, e), append(b.all, undone{change: c, force: b.unconfirmed != nil})
}

func (b *takingBack) entry(c *notes.Change) wire.Entry {
	e := wire.Entry{Type: c.Type, Name: c.Name, Alias: c.Alias, Sensitive: c.Sensitive, Reversal: true}
	if wire.CheckReversalName(e.Name) != nil { // the lines of a script, for one
		quoted := strconv.QuoteToASCII(notes.Clip(e.Name, wire.MaxReversalName/8)) // \U0010ffff has ten bytes
		e.Name = quoted[1 : len(quoted)-1]
	}
	return e
}

// refresh adds an entry that refreshes a resource again, if a reverted change had refreshed it. A resource that is
// reverted itself is refreshed with that.
func (b *takingBack) refresh(c *notes.Change) {
	u, by := b.unconfirmed, c.Refreshes
	if c.Left != nil {
		by = c.Left.RefreshedBy
	}
	if c.Left == nil && u == nil || len(by) == 0 || u != nil && u.Starting {
		return
	}
	e := b.entry(c)
	e.Properties = c.Properties
	for i, other := range b.all {
		same := other.change.Type == c.Type && other.change.Name == c.Name
		switch {
		case same && other.refresh:
			return
		case same && other.change.Reversal != nil:
			e.Properties = other.change.Reversal
		case slices.ContainsFunc(by, other.change.Is):
			e.Subscribe = append(e.Subscribe, i)
		}
	}
	if len(e.Subscribe) > 0 {
		b.cat.Entries, b.all = append(b.cat.Entries, e), append(b.all, undone{change: c, refresh: true, force: u != nil})
	}
}

// keptContents holds the contents that were kept at the change.
type keptContents struct{ before.Contents }

// Open implements [modules.Contents].
func (k keptContents) Open(ctx context.Context, c modules.Content) (io.ReadCloser, error) {
	if _, here := c.Bytes(); here {
		return modules.LocalContents{}.Open(ctx, c)
	}
	r, err := k.Contents.Open(c.SHA256())
	if err != nil {
		return nil, err
	}
	return &whole{r, sha256.New(), c.SHA256()}, nil
}

// A whole content is one whose bytes have the right hash, or it ends in an error.
type whole struct {
	io.ReadCloser
	hash hash.Hash
	want string
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.hash.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(w.hash.Sum(nil)) != w.want {
		err = errors.New("its stored content is damaged: it has another SHA-256")
	}
	return n, err
}

// decodeUndone makes the resource of a job that takes a change back.
func (r *run) decodeUndone(j *job, u *undone) {
	j.undone = u
	switch c := u.change; {
	case u.lost != "":
		j.invalid = modules.Refuse("%s", u.lost)
	case u.refresh:
		r.decode(j, j.entry)
	case c.Cannot != "" && len(c.Before) == 0, c.UndoneBy != "":
	case c.Left == nil && !u.force:
		j.invalid = modules.Refuse("not changed: the host program was killed, so the state after the run is unknown (to continue the run: ccm-push resume)")
	case c.Reversal != nil:
		r.decode(j, j.entry)
	default:
		restore := &before.Restore{Before: c.Before, Force: u.force, Rest: c.Cannot}
		if c.Left != nil {
			restore.Left = c.Left.Paths
		}
		j.resource, j.invalid = restore, restore.Validate()
	}
}

// cannot returns why a change is not reverted; "" if it is.
func (u *undone) cannot() string {
	switch {
	case u == nil || u.refresh || u.lost != "":
		return ""
	case u.change.Cannot != "" && len(u.change.Before) == 0:
		return "left unchanged: " + u.change.Cannot
	case u.change.UndoneBy != "":
		return "run " + u.change.UndoneBy + " has taken it back already"
	}
	return ""
}

// noteUndone records that a change was reverted, so that it is reverted only once: the restored state may look like the
// state that the run left. Without the record, the states are compared.
func (t *turn) noteUndone() {
	r, j := t.run, t.job
	if j.undone == nil || j.undone.refresh || j.mode != modeApply || j.result.Status == wire.Skipped || r.cat.Lock == nil {
		return
	}
	if s, ok := j.resource.(*before.Restore); ok && s.Partly {
		return
	}
	if r.undoing == nil {
		r.undoing = &notes.Undoing{Store: r.engine.Past, By: r.cat.Lock.Run}
	}
	_ = r.undoing.Undone(notes.Undoes{Run: r.cat.Undo.Run, Number: j.undone.change.Number})
}

// asLeft checks, before a change is reverted, that the resource has not changed since.
func (a *attempt) asLeft(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	switch u := j.undone; {
	case u == nil:
		return nil
	case !a.plan.Pending():
		if !u.refresh {
			j.result.Message = "it already has the state before the run"
		}
		return nil
	case u.refresh && (u.force || diedInRun(u.change)):
		return nil
	case u.refresh && u.change.Type == serviceType && len(unitChanges(u.change, a.plan.Changes)) == 0:
		return nil
	case u.refresh:
		what := "its state has changed since the run"
		if changes := a.plan.Changes; len(changes) > 0 && !j.secret {
			what += fmt.Sprintf(" (%s: %s)", changes[0].Property, changes[0].Have)
		}
		return modules.SkipError("not refreshed: " + what)
	case u.change.Reversal == nil: // it looks at that itself
		return nil
	}
	c := j.undone.change
	if now := a.place(c.Subject); now != c.Place {
		return modules.Refuse("left unchanged: during the run its path was %s, and now the path leads to %s", c.Place, now)
	}
	if j.undone.force || diedInRun(c) {
		return nil
	}
	entry := *j.entry
	entry.Properties = c.Properties
	resource, err := r.engine.Decode(&entry)
	if err != nil {
		return err
	}
	var plan modules.Plan
	seen := a.seen
	seen.Report = modules.Discard{} // it has received the report already
	a.turn.outside(func() { plan, err = modules.Compare(ctx, resource, seen) })
	if err != nil {
		return fmt.Errorf("left unchanged: %w", err)
	}
	now, left := unitChanges(c, plan.Changes), unitChanges(c, c.Left.Changes)
	if slices.Equal(now, left) && (c.Type == serviceType || plan.Pending() == (len(left) > 0)) {
		return nil
	}
	what := "it has changed since the run"
	for _, change := range now {
		if !j.secret && !slices.Contains(left, change) {
			what += fmt.Sprintf(": %s is %s, and was %s", change.Property, change.Have, change.Want)
			break
		}
	}
	return modules.Refuse("left unchanged: %s", what)
}
