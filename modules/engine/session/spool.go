package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A spool is where the contents that a controller sends wait to be used: one
// file of mode 0600 that has no name any more, so that nothing is left behind
// however the process ends. It is the [modules.Contents] of a session.
type spool struct {
	dir     string // where the file is made
	request func(digests []string) error

	mu    sync.Mutex
	file  *os.File
	end   int64
	items map[string]*spooled
	over  error // why no more contents will come
}

// spooled is one content that has been asked for.
type spooled struct {
	base, size int64
	promised   bool // size and hash are not known beforehand
	received   int64
	sum        hash.Hash
	done       chan struct{} // closed when the content is whole or has failed
	finished   bool
	err        error // read it after done
}

func newSpool(dir string, request func([]string) error) *spool {
	return &spool{dir: dir, request: request, items: map[string]*spooled{}}
}

// want asks for the contents that are not here and not on their way.
func (s *spool) want(list []modules.Content) error {
	s.mu.Lock()
	if s.over != nil {
		defer s.mu.Unlock()
		return s.over
	}
	var ask []string
	for _, c := range list {
		if s.items[c.SHA256()] == nil {
			s.items[c.SHA256()] = &spooled{size: c.Size(), promised: c.Promised(), sum: sha256.New(), done: make(chan struct{})}
			ask = append(ask, c.SHA256())
		}
	}
	s.mu.Unlock()
	if len(ask) == 0 {
		return nil
	}
	return s.request(ask)
}

// Open implements [modules.Contents]: it waits until the content is here.
func (s *spool) Open(ctx context.Context, c modules.Content) (io.ReadCloser, error) {
	if b, here := c.Bytes(); here {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	if err := s.want([]modules.Content{c}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	item := s.items[c.SHA256()]
	s.mu.Unlock()
	select {
	case <-item.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if item.err != nil {
		return nil, item.err
	}
	return io.NopCloser(io.NewSectionReader(s.file, item.base, item.size)), nil
}

// receive takes the next part of a content. An error means that the controller
// broke the protocol or the disk is full.
func (s *spool) receive(b *wire.Blob) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[b.SHA256]
	switch {
	case item == nil:
		return fmt.Errorf("content %s was not asked for", b.SHA256)
	case item.received == item.size && item.size > 0:
		return fmt.Errorf("content %s was sent twice", b.SHA256)
	case b.Gone != "":
		item.finish(errors.New(b.Gone))
		return nil
	case item.promised && item.received == 0 && item.size == 0:
		item.size = b.Size
	}
	switch {
	case b.Size != item.size || b.Offset != item.received:
		return fmt.Errorf("content %s does not continue at %d", b.SHA256, b.Offset)
	}
	if item.received == 0 {
		item.base, s.end = s.end, s.end+item.size
	}
	if err := s.write(b.Data, item.base+b.Offset); err != nil {
		item.finish(fmt.Errorf("keeping a content on the host: %w", err))
	}
	item.sum.Write(b.Data)
	item.received += int64(len(b.Data))
	if item.received < item.size {
		return nil
	}
	var err error
	if !item.promised && hex.EncodeToString(item.sum.Sum(nil)) != b.SHA256 {
		err = fmt.Errorf("content %s arrived damaged", b.SHA256)
	}
	item.finish(err)
	return nil
}

func (i *spooled) finish(err error) {
	if !i.finished {
		i.finished, i.err = true, err
		close(i.done)
	}
}

// abandon fails whoever waits for a content that will not come any more.
func (s *spool) abandon(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = err
	for _, item := range s.items {
		item.finish(err)
	}
}

func (s *spool) write(b []byte, at int64) error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".contents-")
		if err != nil {
			return err
		}
		if err := os.Remove(f.Name()); err != nil {
			f.Close()
			return err
		}
		s.file = f
	}
	_, err := s.file.WriteAt(b, at)
	return err
}

// Close gives the disk space back.
func (s *spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
