package wire

import (
	"bytes"
	"time"
)

// ReceiveAll reads messages of a host: it waits for one, and adds the messages that have arrived with it, at most
// maxBurst. It reads stable results without encoding/json, which would take most of the time for the stream of a
// converged host. With an error it returns the messages before it.
func (c *Conn) ReceiveAll() (all []*Message, err error) {
	for len(all) == 0 || len(all) < maxBurst && c.lineIsHere() {
		m, err := c.receiveOne()
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
	return all, nil
}

// maxBurst bounds the messages that are read together.
const maxBurst = 64

// lineIsHere reports whether a line can be read without waiting.
func (c *Conn) lineIsHere() bool {
	here, _ := c.in.Peek(c.in.Buffered()) // the bytes are buffered: cannot fail
	return bytes.IndexByte(here, '\n') >= 0
}

func (c *Conn) receiveOne() (*Message, error) {
	if here, _ := c.in.Peek(c.in.Buffered()); len(here) > 0 {
		if r, n := stableResult(here); n > 0 && n <= c.maxLine {
			c.in.Discard(n)   // it is buffered
			both := &struct { // one allocation
				m Message
				r Result
			}{r: r}
			both.m.Result = &both.r
			return &both.m, nil
		}
	}
	return c.Receive()
}

// stableResult reads a line such as {"result":{"i":3,"ns":51000}} at the begin of b, in the form of encoding/json. n is
// its length with the line end, or 0.
func stableResult(b []byte) (r Result, n int) {
	rest, ok := bytes.CutPrefix(b, []byte(`{"result":{"i":`))
	if !ok {
		return r, 0
	}
	index, rest, ok := cutNumber(rest)
	if !ok {
		return r, 0
	}
	duration := int64(0)
	if after, has := bytes.CutPrefix(rest, []byte(`,"ns":`)); has {
		if duration, rest, ok = cutNumber(after); !ok {
			return r, 0
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("}}\n")); !ok {
		return r, 0
	}
	return Result{Index: int(index), Duration: time.Duration(duration)}, len(b) - len(rest)
}

// cutNumber reads a number at the begin of b. ok is false if there is none, or one that may not fit an int64.
func cutNumber(b []byte) (n int64, rest []byte, ok bool) {
	const most = 18 // digits, which fit an int64
	i := 0
	for ; i < len(b) && i <= most && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	leadingZero := i > 1 && b[0] == '0'
	return n, b[i:], i > 0 && i <= most && !leadingZero
}
