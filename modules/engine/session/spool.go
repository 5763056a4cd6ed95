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

// A spool stores received contents until they are used: one file of mode 0600 without a name, so that it disappears
// with the process. A large content has a file of its own, which loses its name once it is complete (see [partial]).
// The spool is the [modules.Contents] of a session.
type spool struct {
	dir     string // where the files are made
	request func(*wire.Want) error

	mu    sync.Mutex
	file  *os.File
	end   int64
	items map[string]*spooled
	over  error // why no more contents will come
}

// A spooled is one requested content.
type spooled struct {
	file       *os.File // its own file; nil means the file of the spool
	resumed    bool     // its beginning is of an earlier session
	base, size int64
	promised   bool // size and hash are not known beforehand
	received   int64
	sum        hash.Hash
	done       chan struct{} // closed when the content is whole or has failed
	finished   bool
	err        error // read it after done
}

func newSpool(dir string, request func(*wire.Want) error) *spool {
	return &spool{dir: dir, request: request, items: map[string]*spooled{}}
}

// want requests the contents that are neither here nor in transit.
func (s *spool) want(list []modules.Content) error {
	s.mu.Lock()
	if s.over != nil {
		defer s.mu.Unlock()
		return s.over
	}
	var ask []modules.Content
	for _, c := range list {
		if s.items[c.SHA256()] == nil {
			s.items[c.SHA256()] = &spooled{size: c.Size(), promised: c.Promised(), sum: sha256.New(), done: make(chan struct{})}
			ask = append(ask, c)
		}
	}
	s.mu.Unlock()
	if len(ask) == 0 {
		return nil
	}
	want := &wire.Want{}
	for _, c := range ask {
		want.SHA256 = append(want.SHA256, c.SHA256())
		if c.Promised() || c.Size() < partialFrom {
			continue
		}
		if from := s.resume(c); from > 0 {
			if want.From == nil {
				want.From = map[string]int64{}
			}
			want.From[c.SHA256()] = from
		}
	}
	return s.request(want)
}

// resume gives a content that was not requested yet a file of its own, and returns the size of the part that it has.
func (s *spool) resume(c modules.Content) int64 {
	p := openPartial(s.dir, c)
	if p == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[c.SHA256()]
	item.file, item.received, item.sum, item.resumed = p.file, p.received, p.sum, p.received > 0
	return p.received
}

// Open implements [modules.Contents]: it waits until the content is here.
func (s *spool) Open(ctx context.Context, c modules.Content) (io.ReadCloser, error) {
	if b, here := c.Bytes(); here {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	if err := s.want([]modules.Content{c}); err != nil {
		return nil, err
	}
	item, err := s.await(ctx, c)
	if err == errStale {
		if err := s.again(c, item); err != nil {
			return nil, err
		}
		item, err = s.await(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	file := item.file
	if file == nil {
		file = s.file
	}
	return io.NopCloser(io.NewSectionReader(file, item.base, item.size)), nil
}

// await waits until a content is here.
func (s *spool) await(ctx context.Context, c modules.Content) (*spooled, error) {
	s.mu.Lock()
	item := s.items[c.SHA256()]
	s.mu.Unlock()
	select {
	case <-item.done:
		return item, item.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// again requests the whole of a content whose first part was damaged, unless that was requested.
func (s *spool) again(c modules.Content, stale *spooled) error {
	s.mu.Lock()
	if s.items[c.SHA256()] != stale || s.over != nil {
		defer s.mu.Unlock()
		return s.over
	}
	p := &partial{file: stale.file}
	p.begin()
	s.items[c.SHA256()] = &spooled{file: p.file, size: stale.size, sum: p.sum, done: make(chan struct{})}
	s.mu.Unlock()
	return s.request(&wire.Want{SHA256: []string{c.SHA256()}})
}

// receive takes the next part of a content. An error means that the controller
// broke the protocol or the disk is full.
func (s *spool) receive(b *wire.Blob) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[b.SHA256]
	switch {
	case item == nil:
		return fmt.Errorf("content %s was not requested", b.SHA256)
	case item.received == item.size && item.size > 0:
		return fmt.Errorf("content %s was sent twice", b.SHA256)
	case b.Gone != "":
		item.unname()
		item.finish(errors.New(b.Gone))
		return nil
	case item.promised && item.received == 0 && item.size == 0:
		item.size = b.Size
	}
	switch {
	case b.Size != item.size || b.Offset != item.received:
		return fmt.Errorf("content %s does not continue at %d", b.SHA256, b.Offset)
	}
	if item.received == 0 && item.file == nil {
		item.base, s.end = s.end, s.end+item.size
	}
	if err := s.write(item, b.Data, item.base+b.Offset); err != nil {
		item.unname() // a full disk is to have the room again
		item.finish(fmt.Errorf("keeping a content on the host: %w", err))
	}
	item.sum.Write(b.Data)
	item.received += int64(len(b.Data))
	if item.received < item.size {
		return nil
	}
	var err error
	switch right := item.promised || hex.EncodeToString(item.sum.Sum(nil)) == b.SHA256; {
	case !right && item.resumed:
		err = errStale // the content is requested again
	case !right:
		err = fmt.Errorf("content %s arrived damaged", b.SHA256)
		fallthrough
	default:
		item.unname()
	}
	item.finish(err)
	return nil
}

// unname has nothing stay of a content that has a file of its own.
func (i *spooled) unname() {
	if i.file != nil {
		_ = os.Remove(i.file.Name()) // remaining files are swept later
	}
}

func (i *spooled) finish(err error) {
	if !i.finished {
		i.finished, i.err = true, err
		close(i.done)
	}
}

// abandon fails all waits for contents that will not come any more.
func (s *spool) abandon(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = err
	for _, item := range s.items {
		item.finish(err)
	}
}

func (s *spool) write(item *spooled, b []byte, at int64) error {
	if item.file != nil {
		_, err := item.file.WriteAt(b, at)
		return err
	}
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

// Close frees the disk space, except the space of incomplete large contents.
func (s *spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, item := range s.items {
		if item.file != nil {
			errs = append(errs, item.file.Close())
		}
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
