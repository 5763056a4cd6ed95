package workers

import "sync"

// outages are the times in which the queue, or the coordinator of a run, fails a worker again and again: an error is told
// once in each.
type outages struct {
	mu   sync.Mutex
	told map[string]map[string]bool // what fails, and the errors so far
}

// theQueue is what stands for the queue; runs have names.
const theQueue = ""

// isNew reports whether an error is to be told. The outage begins with the first.
func (o *outages) isNew(what string, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told == nil {
		o.told = map[string]map[string]bool{}
	}
	if o.told[what] == nil {
		o.told[what] = map[string]bool{}
	}
	known := o.told[what][err.Error()]
	o.told[what][err.Error()] = true
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
