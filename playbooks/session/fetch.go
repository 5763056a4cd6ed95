package session

import (
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A File takes what a host hands over.
type File interface {
	io.Writer
	// Keep is called once all of it is written, Drop in place of that.
	Keep() error
	Drop()
}

// A fetch is a file that the host transfers. If it cannot be written here, its resource fails once the host has
// reported its result; data that arrives until then is counted and dropped.
type fetch struct {
	file   File // nil once it is kept, or cannot be
	begun  int  // how often
	size   int64
	whole  bool
	failed error
}

var errNoFetch = errors.New("this run has no record that could store the file")

// part takes a part of a file. A host sends at most the entry's limit, in order, and restarts at most as often as the
// entry is tried.
func (c *catalogRun) part(p *wire.Part) error {
	if p.Index < 0 || p.Index >= len(c.reported) || c.reported[p.Index] {
		return breach("the host hands over a file for resource %d of %d, or after its result", p.Index, len(c.reported))
	}
	entry := &c.catalog.Entries[p.Index]
	if entry.Fetch == 0 || entry.Check || c.catalog.Check || c.catalog.Monitor {
		return breach("the host hands over a file for resource %d, of which none is wanted", p.Index)
	}
	f := c.fetches[p.Index]
	if f == nil {
		f = &fetch{}
		c.fetches[p.Index] = f
	}
	if p.Offset == 0 {
		if f.begun++; f.begun > entry.Retry+1 {
			return breach("the host begins with the file of resource %d %d times", p.Index, f.begun)
		}
		f.drop()
		f.size, f.whole, f.failed = 0, false, nil
		entry.Sensitive = entry.Sensitive || c.receivedSensitive(p.Index)
		if f.file, f.failed = nil, errNoFetch; c.task.Fetch != nil {
			f.file, f.failed = c.task.Fetch(entry)
		}
	}
	switch {
	case p.Offset != f.size || f.whole:
		return breach("the host hands over the file of resource %d out of order", p.Index)
	case f.size+int64(len(p.Data)) > entry.Fetch:
		return breach("the host hands over more than the %d bytes that the file of resource %d may have", entry.Fetch, p.Index)
	}
	f.size += int64(len(p.Data))
	f.write(p)
	return nil
}

func (f *fetch) write(p *wire.Part) {
	f.whole = p.Last
	if f.failed != nil {
		return
	}
	if _, f.failed = f.file.Write(p.Data); f.failed == nil && p.Last {
		f.failed = f.file.Keep()
		f.file = nil
	}
	if f.failed != nil {
		f.drop()
	}
}

func (f *fetch) drop() {
	if f.file != nil {
		f.file.Drop()
		f.file = nil
	}
}

// fetched has a resource fail whose file is not here to its end.
func (c *catalogRun) fetched(r *wire.Result) {
	if !r.Fetched || c.catalog.Check || c.catalog.Entries[r.Index].Check {
		return
	}
	f := c.fetches[r.Index]
	switch {
	case f == nil || !f.whole: // of a result that the host has kept
		r.Error = "its connection was lost before all of it was here; run again"
	case f.failed != nil:
		r.Error = fmt.Sprintf("it cannot be kept here: %v", f.failed)
	default:
		return
	}
	r.Status, r.Message, r.Fetched = wire.Failed, "", false
}

// dropFetches drops incomplete files.
func (c *catalogRun) dropFetches() {
	for _, f := range c.fetches {
		f.drop()
	}
}
