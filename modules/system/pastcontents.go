package system

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

var errPastSize = fmt.Errorf("more than the %d MiB that are kept of a run", maxPastSize>>20)

// Put keeps the bytes of r, unless it has them. The content gets its name, and survives a crash of the host, with the
// next durable line: many contents are synced at once.
func (p *Past) Put(r io.Reader) (sum string, size int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	above, err := p.open(true)
	if err != nil {
		return "", 0, err
	}
	defer above.Close()
	dir, err := above.OpenRoot(contentsName)
	if err != nil {
		return "", 0, err
	}
	defer dir.Close()
	f, temp, err := rooted.CreateTemp(dir, "")
	if err != nil {
		return "", 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), r)
	err = errors.Join(err, f.Close())
	if sum = hex.EncodeToString(hash.Sum(nil)); err == nil {
		there, statErr := dir.Lstat(sum)
		if statErr == nil && there.Mode().IsRegular() && there.Size() == size || p.pending[sum] != "" {
			return sum, size, dir.Remove(temp)
		}
		if p.added+size > maxPastSize {
			err = errPastSize
		}
	}
	if err != nil {
		return "", 0, errors.Join(rooted.Cause(err), rooted.Cause(ifThere(dir.Remove(temp))))
	}
	p.added, p.pending[sum] = p.added+size, temp
	return sum, size, nil
}

// fewContents are brought to the disk each by itself.
const fewContents = 16

// settle syncs the new contents, and gives them their names.
func (p *Past) settle(above *os.Root) error {
	if len(p.pending) == 0 {
		return nil
	}
	dir, err := above.OpenRoot(contentsName)
	if err != nil {
		return err
	}
	defer dir.Close()
	if len(p.pending) > fewContents {
		err = syncAll(dir)
	} else {
		for _, temp := range p.pending {
			err = errors.Join(err, syncFile(dir, temp))
		}
	}
	if err != nil {
		return err
	}
	for sum, temp := range p.pending {
		if err := dir.Rename(temp, sum); err != nil {
			return err
		}
		delete(p.pending, sum)
	}
	return rooted.SyncDir(dir)
}

func syncFile(dir *os.Root, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Open returns a kept content.
func (p *Past) Open(sum string) (io.ReadCloser, error) {
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("%.70q is no SHA-256", sum)
	}
	dir, err := p.open(false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenFile(filepath.Join(contentsName, sum), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
