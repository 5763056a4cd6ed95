package workers

import (
	"maps"
	"sync"
	"time"
)

// outages are the times in which the queue or a coordinator fails a worker again and again, or the authority a
// coordinator: an error is reported once in each.
type outages struct {
	mu   sync.Mutex
	told map[string]*outage // reported outages, by the failing part
}

// An outage is one of these times.
type outage struct {
	errors map[string]bool
	last   time.Time // when there was one
}

// outageTime is the time without an error after which an outage counts as over: a run may end without new tickets.
const outageTime = time.Hour

// Keys for the queue, the authority, and workers or coordinators that refuse each other; runs have names.
const (
	theQueue     = ""
	theAuthority = "authority"
	refusals     = "refusals"
	strangers    = "strangers"
	announcing   = "announcing"
)

// isNew reports whether to report an error. The outage begins with the first.
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
