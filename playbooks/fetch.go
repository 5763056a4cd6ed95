package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
)

// checkFetches refuses plays that fetch files where nothing is recorded.
func (r *Runner) checkFetches() error {
	if r.Fetched != nil || r.Options.Check {
		return nil
	}
	var errs yamlpos.Errors
	for _, play := range r.Plays {
		manifest.Walk(play.Resources, func(res *manifest.Resource, _ int) {
			if !res.Unselected && res.Query == "" && fetches(res.Type) {
				errs.Add(res.Name.Node.Errorf("run it without --no-record", "fetched files are kept in the record of the run, and this run has none"))
			}
		})
	}
	return errs.Err()
}

// fetches reports whether resources of a type hand files over to the controller.
func fetches(t modules.Type) bool {
	if t.New == nil { // a block has none
		return false
	}
	_, is := t.New().(modules.Fetcher)
	return is
}

// fetch implements commons. It passes files on.
func (a *asking) fetch(ctx context.Context, of, host string) func(*wire.Entry) (session.File, error) {
	return func(e *wire.Entry) (session.File, error) {
		return &passedFile{a, ctx, of, FilePart{Number: a.files.Add(1), Host: host, Name: e.Name, Sensitive: e.Sensitive}}, nil
	}
}

// fetch implements commons.
func (f ownCommons) fetch(_ context.Context, _, host string) func(*wire.Entry) (session.File, error) {
	if f.runner.Fetched == nil {
		return nil
	}
	return func(e *wire.Entry) (session.File, error) {
		file, err := f.runner.Fetched.Create(host, e.Name, e.Sensitive)
		if err != nil { // and no file that is nil
			return nil, err
		}
		return file, nil
	}
}

// Kept is a result with where the file of the host is kept that it is about. A worker does not know that.
func (r *Runner) Kept(e events.Result) events.Result {
	if e.Fetched != "" {
		e.Fetched = ""
		if r.Fetched != nil {
			e.Fetched = r.Fetched.Place(cmp.Or(e.On, e.Host), e.Name, e.Sensitive)
		}
	}
	return e
}

// A FilePart is a part of a file that a host hands over, on its way from a worker to where it is kept.
type FilePart struct {
	Number    int64  `json:"number"` // number of the file at the worker
	Host      string `json:"host"`   // host that has it
	Name      string `json:"name"`
	Sensitive bool   `json:"sensitive,omitempty"`
	Offset    int64  `json:"offset"`
	Data      []byte `json:"data,omitempty"`
	Keep      bool   `json:"keep,omitempty"` // set if it is complete
	Drop      bool   `json:"drop,omitempty"` // it will not be
}

// A passedFile is a file at a worker. Each part is acknowledged before the next one is taken.
type passedFile struct {
	asks *asking
	ctx  context.Context // context of the play: a session writes without one
	of   string          // host in progress
	next FilePart
}

// Write implements [session.File].
func (p *passedFile) Write(data []byte) (int, error) {
	part := p.next
	part.Data = data
	if err := p.pass(part); err != nil {
		return 0, err
	}
	p.next.Offset += int64(len(data))
	return len(data), nil
}

// Keep implements [session.File].
func (p *passedFile) Keep() error {
	part := p.next
	part.Keep = true
	return p.pass(part)
}

// Drop implements [session.File].
func (p *passedFile) Drop() {
	part := p.next
	part.Drop = true
	p.asks.tell(p.ctx, p.of, part)
}

func (p *passedFile) pass(part FilePart) error {
	_, err := send(p.ctx, p.asks, p.of, part)
	return err
}

// A halfFile is one of which parts have come from a worker.
type halfFile struct {
	session.File
	number int64
	size   int64
}

// check checks a part of a file against what the play fetches.
func (p FilePart) check(a *answerer) error {
	e := a.fetched(p.Host, p.Name)
	switch {
	case e == nil:
		return breach("handed over the file %.100q of %.100s, which the play does not fetch", p.Name, p.Host)
	case p.Offset < 0 || p.Offset+int64(len(p.Data)) > e.Fetch:
		return breach("handed over %d bytes of the file %.100q, which may have %d", p.Offset+int64(len(p.Data)), p.Name, e.Fetch)
	case p.Sensitive != e.Sensitive:
		return breach("handed over the file %.100q with another secrecy than the play has", p.Name)
	}
	return nil
}

// answer takes a part of a file from a worker. A restarted file, or one from another worker that has the host after it,
// replaces the first.
func (p FilePart) answer(a *answerer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.Host != a.host && !a.hasLent(p.Host) {
		return fmt.Errorf("%s is not a host that this worker has", p.Host)
	}
	at := [2]string{p.Host, p.Name}
	file := a.files[at]
	if p.Offset == 0 && (file == nil || file.number != p.Number || file.size > 0) && !p.Drop {
		a.drop(at)
		create := a.fleet.commons.fetch(a.ctx, a.host, p.Host)
		if create == nil || a.ctx.Err() != nil {
			return errors.New("this run keeps no files")
		}
		begun, err := create(&wire.Entry{Name: p.Name, Sensitive: p.Sensitive})
		if err != nil {
			return err
		}
		file = &halfFile{File: begun, number: p.Number}
		if a.files == nil {
			a.files = map[[2]string]*halfFile{}
		}
		a.files[at] = file
	}
	switch {
	case p.Drop:
		if file != nil && file.number == p.Number {
			a.drop(at)
		}
		return nil
	case file == nil || file.number != p.Number || file.size != p.Offset:
		a.drop(at)
		return errors.New("it has come out of order")
	}
	_, err := file.Write(p.Data)
	file.size += int64(len(p.Data))
	if err == nil && p.Keep {
		err = file.Keep()
		delete(a.files, at)
	}
	if err != nil {
		a.drop(at)
	}
	return err
}

// drop removes the received part of a file, with the lock held.
func (a *answerer) drop(at [2]string) {
	if file := a.files[at]; file != nil {
		file.Drop()
		delete(a.files, at)
	}
}
