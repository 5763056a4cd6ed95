package catalog

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/download"
)

// Downloads are the files that a run downloads from web servers for its hosts: each at most once, at the first host's
// request. They are kept in unlinked files of mode 0600.
type Downloads struct {
	Client download.Client

	mu     sync.Mutex
	known  map[string]*fetched // downloads by request
	work   sync.WaitGroup
	closed chan struct{}
}

// NewDownloads returns an empty store. Close it after the last request.
func NewDownloads() *Downloads {
	return &Downloads{known: map[string]*fetched{}, closed: make(chan struct{})}
}

// Close cancels running downloads and frees the disk space.
func (d *Downloads) Close() {
	close(d.closed)
	d.work.Wait()
	for _, f := range d.known {
		if f.file != nil {
			f.file.Close()
		}
	}
}

// noToken is the token of downloads where nothing is applied.
var noToken = hex.EncodeToString(make([]byte, sha256.Size))

// A fetched is one requested download.
type fetched struct {
	token   string // name of the download for hosts; it reveals no credentials
	request modules.Download
	once    sync.Once
	done    chan struct{} // closed once what follows is set
	file    *os.File
	size    int64
	sum     string // SHA-256 in lower-case hex
	err     error
}

// promise returns the download of a request, with the token that hosts use for it.
func (d *Downloads) promise(request modules.Download) (*fetched, error) {
	key, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.known[string(key)]
	if f == nil {
		var token [sha256.Size]byte
		rand.Read(token[:]) // never fails
		f = &fetched{token: hex.EncodeToString(token[:]), request: request, done: make(chan struct{})}
		d.known[string(key)] = f
	}
	return f, nil
}

// await starts the download unless it has started, and waits until it ends or ctx ends. Other hosts may wait for it as
// well, so the download does not end with ctx.
func (d *Downloads) await(ctx context.Context, f *fetched) {
	f.once.Do(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		d.work.Go(func() {
			defer cancel()
			f.err = d.get(ctx, f)
			close(f.done)
		})
		d.work.Go(func() {
			select {
			case <-d.closed:
				cancel()
			case <-ctx.Done():
			}
		})
	})
	select {
	case <-f.done:
	case <-ctx.Done():
	}
}

// now calls await and returns the hash of the downloaded file.
func (d *Downloads) now(ctx context.Context, f *fetched) (sum string, err error) {
	d.await(ctx, f)
	select {
	case <-f.done:
		return f.sum, f.err
	default:
		return "", ctx.Err()
	}
}

func (d *Downloads) get(ctx context.Context, f *fetched) error {
	request := f.request
	file, err := os.CreateTemp("", ".ccm-push-")
	if err != nil {
		return err
	}
	err = os.Remove(file.Name())
	part := download.Part{}
	if err == nil {
		err = d.Client.Get(ctx, request, file, &part)
	}
	if err == nil {
		f.sum, err = verify(file, part.Size, request)
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("on the controller: %w", err)
	}
	f.file, f.size = file, part.Size
	return nil
}

// verify returns the hash of a file, and compares it with the expected hash, if there is one.
func verify(file *os.File, size int64, request modules.Download) (sum string, err error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, size)); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	if want := request.SHA256; want != "" && sum != want {
		return "", fmt.Errorf(`%s: checksum mismatch, expected %q got %q (if you trust the new file, correct the property "checksum")`, request, want, sum)
	}
	return sum, nil
}

var errNotWaited = errors.New("the download has not ended")

// open returns the bytes of a download after await.
func (f *fetched) open() (io.ReadCloser, int64, error) {
	select {
	case <-f.done:
	default:
		return nil, 0, errNotWaited
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	return io.NopCloser(io.NewSectionReader(f.file, 0, f.size)), f.size, nil
}
