package system

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// A Journal is a file that only its user can change and that survives a crash. modules/engine stores due refreshes in
// one.
type Journal struct {
	dir, name string
	most      int64 // how large the file may be, in bytes
}

// rootJournalDir survives a restart of the host, as its contents must.
const rootJournalDir = "/var/lib/ccm-push"

// NewJournal returns the journal of this user on this host: in userDir, or for root in /var/lib/ccm-push. Nothing is
// created before the first write.
func NewJournal(userDir string) (*Journal, error) {
	return newJournal(userDir, "refreshes.json", maxJournal)
}

// NewSent returns the file next to the journal for values that resources have sent to others.
func NewSent(userDir string) (*Journal, error) { return newJournal(userDir, "sent.json", maxJournal) }

// NewReversals returns the file next to the journal for the former states of resources with reverse.
func NewReversals(userDir string) (*Journal, error) {
	return newJournal(userDir, "reversals.json", maxJournal)
}

// NewApplied returns the file next to the journal for the properties with which runs have left resources.
func NewApplied(userDir string) (*Journal, error) {
	return newJournal(userDir, "applied.jsonl", maxJournal)
}

func newJournal(userDir, name string, most int64) (*Journal, error) {
	if os.Geteuid() == 0 {
		return &Journal{rootJournalDir, name, most}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// A home directory may be shared by many hosts.
	return &Journal{userDir, strings.ReplaceAll(host, "/", "_") + "." + name, most}, nil
}

// A Log is a journal that grows line by line: results that no controller has acknowledged yet.
type Log struct {
	Journal
	mu    sync.Mutex
	named fs.FileInfo // file whose name is certainly on the disk; nil means none
}

// NewLog returns the log of this user on this host, next to the journal.
func NewLog(userDir string) (*Log, error) {
	j, err := newJournal(userDir, "results.jsonl", maxLog)
	if err != nil {
		return nil, err
	}
	return &Log{Journal: *j}, nil
}

// Append adds a line. A durable one is there also after a crash of the host.
func (l *Log) Append(line []byte, durable bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.makeDir(); err != nil {
		return err
	}
	dir, err := l.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(l.add(dir, f, line, durable), f.Close())
}

// add appends a line to the file of the log. The directory is synced once for each such file.
func (l *Log) add(dir *os.Root, f *os.File, line []byte, durable bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 || !os.SameFile(l.named, info) { // another file may have the number of a removed one
		l.named = nil
	}
	if _, err := f.Write(line); err != nil || !durable {
		return err
	}
	if err := f.Sync(); err != nil || l.named != nil {
		return err
	}
	if err := rooted.SyncDir(dir); err != nil {
		return err
	}
	l.named = info
	return nil
}

// maxJournal bounds a journal, and maxLog a log, in bytes.
const (
	maxJournal = 1 << 20
	maxLog     = 16 << 20
)

func (j *Journal) path() string { return filepath.Join(j.dir, j.name) }

// Read returns the last written text, or nil. A journal that others could have written, or that is not a file of
// reasonable size, is an error.
func (j *Journal) Read() ([]byte, error) {
	dir, err := j.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(j.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := checkJournal(j.path(), info, j.most); err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(j.name, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, j.most))
}

func checkJournal(path string, info fs.FileInfo, most int64) error {
	switch f := describe(info); {
	case f.Kind != modules.Regular:
		return fmt.Errorf("%s is not a regular file but a %s", path, f.Kind)
	case f.UID != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to %d", path, f.UID, os.Geteuid())
	case f.Mode&0o022 != 0:
		return fmt.Errorf("%s has mode %04o: others can write to it; run on the host: chmod go-w %[1]s", path, f.Mode.Perm())
	case f.Size > most:
		return fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return nil
}

// open opens the directory if no other user can put files there.
func (j *Journal) open() (*os.Root, error) {
	if err := checkPrivate(j.dir); err != nil {
		return nil, err
	}
	return os.OpenRoot(j.dir)
}

// MayWrite returns an error if the journal cannot be written. nil is a promise as far as the operating system can make
// it.
func (j *Journal) MayWrite() error {
	err := checkPrivate(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return rights{new(mountinfo.Live)}.MayReplace(j.dir)
	}
	if err != nil {
		return err
	}
	return rights{new(mountinfo.Live)}.MayReplace(j.path())
}

// Replace replaces the content by text, or removes it if text is empty. In any case, either the old or the new text is
// there; once Replace has returned nil, the new one survives a crash of the host.
func (j *Journal) Replace(text []byte) error {
	if int64(len(text)) > j.most {
		return fmt.Errorf("%s would be larger than %d bytes", j.path(), j.most)
	}
	if err := j.makeDir(); err != nil {
		return err
	}
	dir, err := j.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if len(text) == 0 {
		if err := dir.Remove(j.name); err != nil {
			return ifThere(err)
		}
		return rooted.SyncDir(dir)
	}
	next := j.name + ".new" // one name, so that a run that is killed leaves one file at most
	if err := writeSynced(dir, next, text); err != nil {
		return fmt.Errorf("%s: %w", j.path(), rooted.Cause(err))
	}
	if err := dir.Rename(next, j.name); err != nil {
		return err
	}
	return rooted.SyncDir(dir)
}

func writeSynced(dir *os.Root, name string, text []byte) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes the directory if it is not there, and has the disk know of it.
func (j *Journal) makeDir() error {
	if _, err := os.Lstat(j.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(j.dir)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	defer root.Close()
	return rooted.SyncDir(root)
}

// SetAside moves an invalid journal away, for people to look at, and returns its new path. It replaces an earlier one
// there.
func (j *Journal) SetAside() (path string, err error) {
	dir, err := j.open()
	if err != nil {
		return "", err
	}
	defer dir.Close()
	aside := j.name + ".damaged"
	if err := dir.Rename(j.name, aside); err != nil {
		return "", err
	}
	return filepath.Join(j.dir, aside), rooted.SyncDir(dir)
}

// privateDir returns the directory for data of types: for root next to the journal, for others next to the program,
// which has a directory of its own.
func privateDir() string {
	if os.Geteuid() == 0 {
		return rootJournalDir
	}
	return programDir()
}
