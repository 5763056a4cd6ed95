package session

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// want queues contents for sending, if all of them are the host's own and it
// asks for the first time: it keeps what it gets as long as the session lasts.
func (c *catalogRun) want(ctx context.Context, digests []string) error {
	contents := c.task.Compiled.Contents
	if len(digests) == 0 {
		return breach("the host asks for nothing")
	}
	for _, digest := range digests {
		switch {
		case !contents.Has(digest):
			return breach("the host asks for a content that is not its own: %.64q", digest)
		case c.session.asked[digest]:
			return breach("the host asks for the content %s twice", digest)
		}
		c.session.asked[digest] = true
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
	return c.session.queue(func() error {
		for _, digest := range ready {
			if err := c.session.stream(contents, digest); err != nil {
				return err
			}
		}
		return nil
	})
}

// later sends a promised content when it is there. Until then the sender is free,
// to ping and to send others.
func (s *Session) later(ctx context.Context, contents catalog.Contents, digest string) {
	ctx, cancel := context.WithCancel(ctx)
	s.work.Go(func() {
		defer cancel()
		contents.Await(ctx, digest)
		select {
		case s.outgoing <- func() error { return s.stream(contents, digest) }:
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

// stream sends a content in chunks. One that cannot be read any more is the
// host's to know: it fails the resource, not the session.
func (s *Session) stream(contents catalog.Contents, digest string) error {
	r, size, err := contents.Open(digest)
	if err != nil {
		return s.conn.Send(gone(digest, err))
	}
	defer r.Close()
	buf := make([]byte, wire.MaxChunk)
	pinged := time.Now()
	for offset := int64(0); ; {
		// A host need not say anything during a content that takes minutes.
		if time.Since(pinged) >= s.interval {
			pinged = time.Now()
			if err := s.ping(); err != nil {
				return err
			}
		}
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), size-offset)])
		if err != nil {
			return s.conn.Send(gone(digest, fmt.Errorf("the file changed during the run: %w", err)))
		}
		blob := &wire.Blob{SHA256: digest, Size: size, Offset: offset, Data: buf[:n]}
		if err := s.conn.Send(&wire.Message{Blob: blob}); err != nil {
			return err
		}
		s.sent.Store(time.Now().UnixNano())
		if offset += int64(n); offset == size {
			return nil
		}
	}
}

func gone(digest string, err error) *wire.Message {
	return &wire.Message{Blob: &wire.Blob{SHA256: digest, Gone: err.Error()}}
}
