package record

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// longestDelay is the maximum time before a line is written, so that lines are written together. If a run is
	// killed, at most the lines of this time are lost.
	longestDelay = 100 * time.Millisecond
	// mostDelayed is the number of bytes that are written at once, before the delay is over.
	mostDelayed = 32 << 10
)

// A delayed is a file with few large writes: each small write of some 150 bytes costs as much as making thirty lines.
// The next call returns the error of a write.
type delayed struct {
	mu      sync.Mutex
	file    *os.File
	pending []byte
	timer   *time.Timer // runs while something is pending; nil before the first time
	err     error       // the first of the file; nothing was written after it
	copied  Copy        // receives a copy of the data in the file; may be nil
	written int64       // bytes in the file

	settling sync.Mutex // taken before mu
	settled  int64      // bytes that the disk has
	closed   bool       // all data is on disk
}

// Write takes whole lines.
func (d *delayed) Write(lines []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) == 0 {
		if d.timer == nil {
			d.timer = time.AfterFunc(longestDelay, func() { _ = d.Sync() })
		} else {
			d.timer.Reset(longestDelay)
		}
	}
	d.pending = append(d.pending, lines...)
	if len(d.pending) >= mostDelayed {
		d.flush()
	}
	return len(lines), d.err
}

// Sync writes pending data.
func (d *delayed) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flush()
	return d.err
}

// Settle returns once all written data is on disk. Calls at the same time share one sync, so its cost does not grow
// with the number of hosts.
func (d *delayed) Settle() error {
	d.mu.Lock()
	d.flush()
	want, err := d.written, d.err
	d.mu.Unlock()
	if err != nil {
		return err
	}
	d.settling.Lock()
	defer d.settling.Unlock()
	switch {
	case d.settled >= want:
		return nil
	case d.closed:
		return os.ErrClosed
	}
	d.mu.Lock()
	d.flush()
	all := d.written
	d.mu.Unlock()
	if err := d.file.Sync(); err != nil {
		return err
	}
	d.settled = all
	return nil
}

func (d *delayed) flush() {
	if len(d.pending) == 0 {
		return
	}
	d.timer.Stop()
	if d.err == nil {
		n := 0
		n, d.err = d.file.Write(d.pending)
		d.written += int64(n)
		if d.err == nil && d.copied != nil {
			d.copied.Lines(bytes.Clone(d.pending))
		}
	}
	d.pending = d.pending[:0]
}

// Close writes pending data, and closes the file.
func (d *delayed) Close() error {
	err := d.Sync()
	d.settling.Lock()
	defer d.settling.Unlock()
	d.closed = true
	return errors.Join(err, d.file.Close())
}
