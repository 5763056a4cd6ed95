package workers

import "sync"

// tasks are the goroutines that answer workers. A worker can ask while the run is closed, and a [sync.WaitGroup] must not be waited for
// while its first goroutine starts: close refuses further ones.
type tasks struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// start runs a function in a goroutine, and reports whether it did. After close it does not.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Go(f)
	return true
}

// close waits until all goroutines have ended, and starts no further ones.
func (t *tasks) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}
