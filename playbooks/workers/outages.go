package workers

import (
	"maps"
	"sync"
	"time"
)

// outages are the times in which the queue, or the coordinator of a run, fails a worker again and again, or the authority a coordinator: an
// error is told once in each.
type outages struct {
	mu   sync.Mutex
	told map[string]*outage // by what fails
}

// An outage is one of these times.
type outage struct {
	errors map[string]bool
	last   time.Time // when there was one
}

// outageTime is when an outage is over of which nothing was heard since: a run may end without its tickets coming again.
const outageTime = time.Hour

// What stands for the queue, the authority, and workers or coordinators who refuse each other; runs have names.
const (
	theQueue     = ""
	theAuthority = "authority"
	refusals     = "refusals"
	strangers    = "strangers"
	announcing   = "announcing"
)

// isNew reports whether an error is to be told. The outage begins with the first.
func (o *outages) isNew(what string, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(o.told, func(_ string, one *outage) bool { return now.Sub(one.last) > outageTime })
	if o.told == nil {
		o.told = map[string]*outage{}
	}
	if o.told[what] == nil {
		o.told[what] = &outage{errors: map[string]bool{}}
	}
	one := o.told[what]
	known := one.errors[err.Error()]
	one.errors[err.Error()], one.last = true, now
	return !known
}

// end ends an outage, and reports whether there was one.
func (o *outages) end(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	there := o.told[what] != nil
	delete(o.told, what)
	return there
}
