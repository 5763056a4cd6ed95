package playbooks

import (
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// Connections are the connections of hosts that a worker has taken through a play, and will get again for a later one,
// so that it need not log in again. Their host programs have ended, so they hold no lock, and another worker may get
// the host. The zero value has none; it is for one run. A nil one keeps none.
type Connections struct {
	mu     sync.Mutex
	kept   map[string]*connection               // by host
	behind map[*dial.Dialer][]*transport.Client // which were kept while the dialer was in use
	closed bool
	work   sync.WaitGroup
}

// A connection waits for the next play of its host.
type connection struct {
	client *transport.Client
	limit  *time.Timer
}

// waitsAtMost is the longest time that a connection is kept: after that another worker probably has the host.
const waitsAtMost = 5 * time.Minute

// keep takes a connection over, if there are fewer than most.
func (c *Connections) keep(host string, client *transport.Client, from *dial.Dialer, most int) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.kept) >= most || c.kept[host] != nil {
		return false
	}
	if c.kept == nil {
		c.kept, c.behind = map[string]*connection{}, map[*dial.Dialer][]*transport.Client{}
	}
	one := &connection{client: client}
	one.limit = time.AfterFunc(waitsAtMost, func() { c.drop(host, one) })
	c.kept[host] = one
	c.behind[from] = append(c.behind[from], client)
	return true
}

// take returns the connection of a host, or nil.
func (c *Connections) take(host string) *transport.Client {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.kept[host]
	if one == nil {
		return nil
	}
	delete(c.kept, host)
	one.limit.Stop()
	return one.client
}

// drop ends a connection that has waited for too long.
func (c *Connections) drop(host string, one *connection) {
	c.mu.Lock()
	still := c.kept[host] == one
	if still {
		delete(c.kept, host)
	}
	c.mu.Unlock()
	if still {
		one.client.Close()
	}
}

// CloseDialer closes a dialer once the connections have ended that were kept while it was in use: they may lead through
// jump hosts of it.
func (c *Connections) CloseDialer(d *dial.Dialer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clients := c.behind[d]
	delete(c.behind, d)
	c.work.Go(func() {
		for _, client := range clients {
			<-client.Done()
		}
		d.Close()
	})
}

// Close ends the kept connections. Those in use must have ended.
func (c *Connections) Close() {
	c.mu.Lock()
	c.closed = true
	for _, one := range c.kept {
		one.limit.Stop()
		one.client.Close()
	}
	clear(c.kept)
	c.mu.Unlock()
	c.work.Wait()
}
