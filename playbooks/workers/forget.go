package workers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// A run that watches hosts goes on for weeks, and is asked all the time: what a coordinator keeps of a question, a handout or a
// certificate it keeps for a while only. What comes later than that is known for what it is without being remembered: a question about
// a ticket has a stamp that ends, and the key of a handout is made of its name.

const (
	// maintainTime is how often it is looked for what is over.
	maintainTime = time.Minute
	// lateTime is for how long what a worker says is still taken in when it has lost its hosts, or these have ended.
	lateTime = time.Hour
	// stampTime is for how long a stamp is good, and a question with one is remembered. It is longer than a question is asked again and
	// again.
	stampTime = 10 * time.Minute
	// stampAge is how long the part of a stamp is that says when it was made.
	stampAge = 8
)

// code is one that nobody else can make.
func (c *Coordinator) code(of string, text []byte) []byte {
	mac := hmac.New(sha256.New, c.secret)
	mac.Write(append([]byte(of+"\x00"), text...))
	return mac.Sum(nil)
}

// keyOf is the key of a handout. It is known to whom the handout was given.
func (c *Coordinator) keyOf(h handout) frameKey { return c.code("handout", h[:]) }

// stamp says what time it is here.
func (c *Coordinator) stamp() []byte {
	made := binary.BigEndian.AppendUint64(nil, uint64(time.Since(c.began)))
	return append(made, c.code("stamp", made)...)
}

// isFresh reports whether a stamp was made here not long ago.
func (c *Coordinator) isFresh(stamp []byte) bool {
	if len(stamp) < stampAge {
		return false
	}
	made := stamp[:stampAge]
	age := time.Since(c.began) - time.Duration(binary.BigEndian.Uint64(made))
	return hmac.Equal(stamp[stampAge:], c.code("stamp", made)) && age < stampTime
}

// maintain forgets what is over, and has shards get other tickets, until nothing is heard any more.
func (c *Coordinator) maintain(ctx context.Context) {
	ticks := time.NewTicker(maintainTime)
	defer ticks.Stop()
	for {
		select {
		case now := <-ticks.C:
			c.forget(ctx, now)
			c.resubmit(ctx, now)
		case <-c.gone:
			return
		}
	}
}

// forget forgets what is over at a time, and deletes the objects that were for it.
func (c *Coordinator) forget(ctx context.Context, now time.Time) {
	recipients := c.forgetHandouts(now)
	c.forgetMade(now, recipients)
	c.mu.Lock()
	spent := c.spent
	c.spent = nil
	c.mu.Unlock()
	for i, name := range spent {
		timed, cancel := context.WithTimeout(ctx, closeTime)
		err := c.run.Delete(timed, name)
		cancel()
		if err != nil { // it is tried again
			c.mu.Lock()
			c.spent = append(c.spent, spent[i:]...)
			c.mu.Unlock()
			return
		}
	}
}

// forgetHandouts forgets questions about tickets, and handouts that are over, and gives for whom there are others.
func (c *Coordinator) forgetHandouts(now time.Time) (recipients map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, one := range c.asked {
		if !one.answered.IsZero() && now.Sub(one.answered) > stampTime {
			delete(c.asked, of)
		}
	}
	recipients = map[string]bool{}
	for of, h := range c.handed {
		over := !h.over.IsZero() && now.Sub(h.over) > lateTime
		c.spent = append(c.spent, h.asks.spentObjects(over)...)
		if !over {
			recipients[h.recipient] = true
			continue
		}
		c.spent = append(c.spent, h.object)
		delete(c.handed, of)
	}
	return recipients
}

// forgetMade forgets certificates that have ended, and contents of the run that were for others than some recipients.
func (c *Coordinator) forgetMade(now time.Time, recipients map[string]bool) {
	c.making.Lock()
	defer c.making.Unlock()
	for name, one := range c.certs {
		if now.After(one.ends) {
			delete(c.certs, name)
		}
	}
	for recipient, one := range c.runs {
		if recipients[recipient] || now.Sub(one.asked) <= lateTime {
			continue
		}
		c.mu.Lock()
		c.spent = append(c.spent, one.Name)
		c.mu.Unlock()
		delete(c.runs, recipient)
	}
}
