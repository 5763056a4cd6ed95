package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
)

// worthKeeping is the least size of a part to store, in bytes.
const worthKeeping = 1 << 20

// A getter writes a download to a file that may already contain a part of it, and updates the part.
type getter func(ctx context.Context, d modules.Download, into *os.File, got *part) error

// A part is the beginning of a download.
type part struct {
	Size int64  `json:"size"` // bytes
	ETag string `json:"etag"` // version of the file
}

// fetch downloads the archive, and continues the download of an earlier run.
func (get getter) fetch(ctx context.Context, a *Archive, h modules.Host, own *stagingFile) error {
	d := a.download()
	got, err := own.resume(d.URL)
	if err != nil {
		return err
	}
	continued := got.Size
	err = get(ctx, d, own.file, &got)
	if err == nil {
		if err = own.verify(ctx, d.SHA256); err != nil && continued > 0 && ctx.Err() == nil {
			// The stored part may belong to another file.
			continued, got = 0, part{}
			if err = get(ctx, d, own.file, &got); err == nil {
				err = own.verify(ctx, d.SHA256)
			}
		}
		if err != nil {
			return served(a.URL, err)
		}
		own.forget()
		report(h.Report, got.Size, continued)
		return nil
	}
	if got.ETag != "" && got.Size >= worthKeeping && own.remember(d.URL, got) == nil {
		err = fmt.Errorf("%w; the first %s are kept, and the next run continues there", err, modules.FormatSize(got.Size))
	}
	return failed(err)
}

// report reports the size of large downloads.
func report(to modules.Reporter, size, continued int64) {
	switch {
	case continued > 0:
		to.Message("info", fmt.Sprintf("downloaded %s, of which %s had been kept", modules.FormatSize(size), modules.FormatSize(continued)))
	case size >= worthKeeping:
		to.Message("info", "downloaded "+modules.FormatSize(size))
	}
}

// A memo identifies the download that a stored part belongs to.
type memo struct {
	URL string `json:"url"` // its SHA-256: it can hold a secret
	part
}

const maxMemo = 4 << 10 // bytes

func hashed(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])
}

func (p *stagingFile) partName() string { return p.stem() + "part" }
func (p *stagingFile) memoName() string { return p.stem() + "etag" }

// resume opens the stored part of the same download, or creates a new file.
func (p *stagingFile) resume(url string) (part, error) {
	m, ok := p.recall()
	p.temporary = p.partName()
	if ok && m.URL == hashed(url) && m.ETag != "" && p.open(0) == nil {
		info, err := p.ours(p.file, p.temporary)
		if err == nil && info.Size() == m.Size {
			return m.part, nil
		}
		p.file.Close()
	}
	p.forget()
	if err := p.dir.Remove(p.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return part{}, p.create() // another process has taken the name
	}
	err := p.open(os.O_CREATE | os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		err = p.create()
	}
	return part{}, err
}

// errNotOurs is the error for a file that another user can have written to.
var errNotOurs = errors.New("another user may have changed it")

// ours returns the info of a file of that name, unless another user may have changed it or the name is a link: a Root
// follows links whatever the flags are.
func (p *stagingFile) ours(f *os.File, name string) (fs.FileInfo, error) {
	named, err := p.dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !os.SameFile(info, named) || info.Mode() != 0o600 || int(st.Uid) != os.Geteuid() || st.Nlink != 1 {
		return nil, errNotOurs
	}
	return info, nil
}

func (p *stagingFile) recall() (m memo, ok bool) {
	f, err := p.dir.OpenFile(p.memoName(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return memo{}, false
	}
	defer f.Close()
	if _, err := p.ours(f, p.memoName()); err != nil {
		return memo{}, false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxMemo))
	return m, err == nil && json.Unmarshal(b, &m) == nil && m.Size > 0
}

// remember keeps the file for the next run.
func (p *stagingFile) remember(url string, got part) error {
	if p.temporary != p.partName() {
		return fs.ErrExist
	}
	if err := p.file.Truncate(got.Size); err != nil {
		return err
	}
	b, err := json.Marshal(memo{URL: hashed(url), part: got})
	if err != nil {
		return err
	}
	p.forget()
	f, err := p.dir.OpenFile(p.memoName(), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	p.keep = err == nil
	return err
}

// forget removes the memo of a part.
func (p *stagingFile) forget() { p.dir.Remove(p.memoName()) } // if it stays, it fits nothing
