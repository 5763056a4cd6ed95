package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// want queues contents for sending, if all of them belong to the host's catalog and it requests them for the first
// time: it keeps them as long as the session lasts. If it already had a part of a content, it may request the whole
// once more.
func (c *catalogRun) want(ctx context.Context, w *wire.Want) error {
	contents, digests := c.task.Compiled.Contents, w.SHA256
	if len(digests) == 0 {
		return breach("the host sends an empty request")
	}
	for _, digest := range digests {
		switch {
		case !contents.Has(digest):
			return breach("the host requests a content that its catalog does not name: %.64q", digest)
		case c.session.asked[digest] == askedWhole, c.session.asked[digest] == askedRest && w.From[digest] != 0:
			return breach("the host requests the content %s twice", digest)
		case w.From[digest] < 0 || w.From[digest] > 0 && contents.Promised(digest):
			return breach("the host requests a part that the content does not have: %s", digest)
		}
		c.session.asked[digest] = askedWhole
		if w.From[digest] > 0 {
			c.session.asked[digest] = askedRest
		}
	}
	var ready []string
	for _, digest := range digests {
		if contents.Promised(digest) {
			c.session.later(ctx, contents, digest)
		} else {
			ready = append(ready, digest)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return c.session.queue(func() error { return c.session.stream(contents, w.From, ready...) })
}

// later sends a promised content when it is there. Until then the sender is free,
// to ping and to send others.
func (s *Session) later(ctx context.Context, contents catalog.Contents, digest string) {
	ctx, cancel := context.WithCancel(ctx)
	s.work.Go(func() {
		defer cancel()
		contents.Await(ctx, digest)
		select {
		case s.outgoing <- func() error { return s.stream(contents, nil, digest) }:
		case <-s.over:
		}
	})
	s.work.Go(func() {
		select {
		case <-s.over:
			cancel()
		case <-ctx.Done():
		}
	})
}

// An opener returns contents by their hash, with their size; [catalog.Contents] is one.
type opener interface {
	Open(digest string) (io.ReadCloser, int64, error)
}

// stream sends contents in chunks, and small ones together; from has the number of bytes that the host already has of
// some.
func (s *Session) stream(contents opener, from map[string]int64, digests ...string) error {
	p := parcel{session: s, pinged: time.Now()}
	for _, digest := range digests {
		if err := p.add(contents, digest, from[digest]); err != nil {
			return err
		}
	}
	return p.send()
}

// A parcel collects chunks for one write. Sending each small content by itself would cost more than its bytes do:
// compressor tables, a packet, and a wakeup at each end.
type parcel struct {
	session *Session
	chunks  []*wire.Message
	bytes   []byte // bytes of the chunks
	pinged  time.Time
}

// add takes up a content, from a byte on. One that cannot be read any more is the host's to know: it
// fails the resource, not the session.
func (p *parcel) add(contents opener, digest string, from int64) error {
	r, size, err := contents.Open(digest)
	if err != nil {
		return p.put(gone(digest, err))
	}
	defer r.Close()
	if from > 0 && from >= size {
		return breach("the host requests a part that the content does not have: %s", digest)
	}
	if err := skip(r, from); err != nil {
		return p.put(gone(digest, fmt.Errorf("the file changed during the run: %w", err)))
	}
	for offset := from; ; {
		data, err := p.read(r, int(min(wire.MaxChunk, size-offset)))
		if err != nil {
			return p.put(gone(digest, fmt.Errorf("the file changed during the run: %w", err)))
		}
		blob := &wire.Blob{SHA256: digest, Size: size, Offset: offset, Data: data}
		if err := p.put(&wire.Message{Blob: blob}); err != nil {
			return err
		}
		if offset += int64(len(data)); offset == size {
			return nil
		}
	}
}

// read reads n bytes, which are good until the parcel is sent.
func (p *parcel) read(r io.Reader, n int) ([]byte, error) {
	before := len(p.bytes)
	p.bytes = slices.Grow(p.bytes, n)[:before+n]
	data := p.bytes[before:]
	_, err := io.ReadFull(r, data)
	return data, err
}

// put adds a chunk, and sends the parcel once it is as large as a chunk can be.
func (p *parcel) put(m *wire.Message) error {
	p.chunks = append(p.chunks, m)
	if len(p.bytes) < wire.MaxChunk {
		return nil
	}
	return p.send()
}

// send sends what there is.
func (p *parcel) send() error {
	s := p.session
	// A host need not say anything during a content that takes minutes.
	if time.Since(p.pinged) >= s.interval {
		p.pinged = time.Now()
		if err := s.ping(); err != nil {
			return err
		}
	}
	if len(p.chunks) == 0 {
		return nil
	}
	err := s.conn.Send(p.chunks...)
	p.chunks, p.bytes = p.chunks[:0], p.bytes[:0]
	if err == nil {
		s.sent.Store(time.Now().UnixNano())
	}
	return err
}

// skip skips the first n bytes of a content.
func skip(r io.Reader, n int64) error {
	if seeker, ok := r.(io.Seeker); ok && n > 0 {
		_, err := seeker.Seek(n, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

// States of a host's requests for a content.
const (
	askedWhole = 1 + iota
	askedRest  // the host had no part of it
)

func gone(digest string, err error) *wire.Message {
	return &wire.Message{Blob: &wire.Blob{SHA256: digest, Gone: err.Error()}}
}
