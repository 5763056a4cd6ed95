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

// Downloads are the files that a run gets from web servers for its hosts: each at
// most once, when the first host asks for it. They are kept in files of mode 0600
// that have no name any more.
type Downloads struct {
	Client download.Client

	mu     sync.Mutex
	known  map[string]*fetched // by what is asked of the server
	work   sync.WaitGroup
	closed chan struct{}
}

// NewDownloads makes an empty store. It is to be closed when no host asks any
// more.
func NewDownloads() *Downloads {
	return &Downloads{known: map[string]*fetched{}, closed: make(chan struct{})}
}

// Close ends what is under way and gives the disk space back.
func (d *Downloads) Close() {
	close(d.closed)
	d.work.Wait()
	for _, f := range d.known {
		if f.file != nil {
			f.file.Close()
		}
	}
}

// noToken is what downloads are called where nothing is applied.
var noToken = hex.EncodeToString(make([]byte, sha256.Size))

// fetched is one download, once it has been asked for.
type fetched struct {
	token   string // what hosts call it: it says nothing about credentials
	request modules.Download
	once    sync.Once
	done    chan struct{} // closed once what follows is set
	file    *os.File
	size    int64
	sum     string // SHA-256 in lower-case hex
	err     error
}

// promise gives what a request is called by hosts.
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

// await begins the download unless it has begun, and waits for its end or that of
// ctx. Other hosts may wait for it as well, so it does not end with ctx.
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

// now is await, and gives the hash of what has been got.
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

// verify gives the hash of a file, and holds it against the one that it must have, if there is one.
func verify(file *os.File, size int64, request modules.Download) (sum string, err error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, size)); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	if want := request.SHA256; want != "" && sum != want {
		return "", fmt.Errorf("%s: checksum mismatch, expected %q got %q (if the file there is the right one, correct checksum)", request, want, sum)
	}
	return sum, nil
}

var errNotWaited = errors.New("the download has not ended")

// open gives the bytes of a download that has been waited for.
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
