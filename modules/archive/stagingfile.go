package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// A stagingFile is a file of mode 0600 next to the archive. It holds the archive until it has been verified and
// unpacked.
type stagingFile struct {
	dir       *os.Root
	name      string // name of the archive, in dir
	file      *os.File
	temporary string // its name in dir; "" once it has become the archive
	keep      bool   // the next run can use it
}

// maxStem keeps a temporary name within the 255 bytes that file systems allow.
const maxStem = 200

func (p *stagingFile) stem() string { return "." + p.name[:min(len(p.name), maxStem)] + ".ccm-" }

// create makes the file under a name of its own.
func (p *stagingFile) create() (err error) {
	rooted.Sweep(p.dir)
	p.file, p.temporary, err = rooted.CreateTemp(p.dir, p.name)
	return err
}

func (p *stagingFile) open(flags int) (err error) {
	p.file, err = p.dir.OpenFile(p.temporary, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|flags, 0o600)
	return err
}

// discard ends the use of the file.
func (p *stagingFile) discard() error {
	if p.file != nil {
		p.file.Close()
	}
	if p.temporary == "" || p.keep {
		return nil
	}
	err := p.dir.Remove(p.temporary)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (p *stagingFile) size() (int64, error) {
	info, err := p.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// fill copies r, up to a number of bytes.
func (p *stagingFile) fill(ctx context.Context, r io.Reader, most int64) error {
	n, err := io.Copy(p.file, io.LimitReader(rooted.UntilDone{Ctx: ctx, In: r}, most+1))
	if err == nil && n > most {
		err = fmt.Errorf(`it is larger than %d MiB; raise "max_size" if that is right`, most>>20)
	}
	return err
}

// digest is the SHA-256 of the file.
func (p *stagingFile) digest(ctx context.Context) (string, error) {
	size, err := p.size()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, rooted.UntilDone{Ctx: ctx, In: io.NewSectionReader(p.file, 0, size)})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// verify compares the file with a SHA-256; "" skips it.
func (p *stagingFile) verify(ctx context.Context, want string) error {
	if want == "" {
		return nil
	}
	got, err := p.digest(ctx)
	if err == nil && got != want {
		err = mismatch(want, got)
	}
	return err
}

// place makes the file the archive.
func (p *stagingFile) place(ctx context.Context, a modules.Attributes) error {
	// chown before chmod: only the new owner may gain the rights of the new mode.
	err := errors.Join(ctx.Err(), p.file.Chown(a.UID, a.GID))
	if err == nil {
		err = errors.Join(p.file.Chmod(a.Mode), p.file.Sync())
	}
	if err == nil {
		err = p.dir.Rename(p.temporary, p.name)
	}
	if err != nil {
		return fmt.Errorf("putting it in place: %w", err)
	}
	p.temporary = ""
	return rooted.SyncDir(p.dir)
}
