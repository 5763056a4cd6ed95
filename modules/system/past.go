package system

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// A Past is a folder, next to the journal, for the states before changes of runs: a log for each run, and each content
// once, by its SHA-256. Only its user can read it.
type Past struct {
	folder Journal // dir is the directory above, and name the name of the folder
	now    func() time.Time

	mu     sync.Mutex
	pruned bool            // old runs have been dropped
	known  map[string]bool // runs whose log is there
	inUse  map[string]bool // logs that have been read: they are being continued or undone
	added  int64           // contents since pruned, in bytes
	// pending are contents under a temporary name, by their hash.
	pending map[string]string
}

// Limits when a run begins with its first change. The oldest runs are dropped first. A single run has the same limits.
const (
	maxPastSize = 256 << 20           // bytes
	maxPastAge  = 90 * 24 * time.Hour // since something was last written of a run
)

const (
	contentsName = "contents"
	logSuffix    = ".jsonl"
	maxPastLog   = 16 << 20 // bytes of the log of one run
)

// NewPast returns the folder of this user on this host. Nothing is created before the first write.
func NewPast(userDir string) (*Past, error) {
	j, err := newJournal(userDir, "history", 0)
	if err != nil {
		return nil, err
	}
	p := PastIn(j.dir)
	p.folder.name = j.name
	return p, nil
}

// PastIn returns the folder "history" of a directory.
func PastIn(dir string) *Past {
	return &Past{folder: Journal{dir: dir, name: "history"}, now: time.Now, known: map[string]bool{}, inUse: map[string]bool{}, pending: map[string]string{}}
}

// open opens the folder, which it makes if that is wanted.
func (p *Past) open(create bool) (*os.Root, error) {
	path := p.folder.path()
	if create {
		if err := p.folder.makeDir(); err != nil {
			return nil, err
		}
		for _, dir := range []string{path, filepath.Join(path, contentsName)} {
			if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		}
	}
	if err := checkPrivate(p.folder.dir); err != nil {
		return nil, err
	}
	if err := checkPrivate(path); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(path)
	if err == nil && create && !p.pruned {
		p.pruned = true // before the first content, since no log refers to it yet
		p.prune(dir)
	}
	return dir, err
}

// Read returns the log of a run, or nil.
func (p *Past) Read(run string) ([]byte, error) {
	dir, err := p.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	p.mu.Lock()
	p.inUse[run+logSuffix] = true
	p.mu.Unlock()
	info, err := dir.Lstat(run + logSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := checkJournal(filepath.Join(p.folder.path(), run+logSuffix), info, maxPastLog); err != nil {
		return nil, err
	}
	return dir.ReadFile(run + logSuffix)
}

// Append adds lines to the log of a run. Durable ones are there also after a crash of the host,
// with the contents that have been put before.
func (p *Past) Append(run string, lines []byte, durable bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir, err := p.open(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.OpenFile(run+logSuffix, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if durable {
		err = p.settle(dir)
	}
	if err == nil {
		err = appendLines(f, lines)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if err == nil && !p.known[run] {
		err = rooted.SyncDir(dir)
		p.known[run] = err == nil
	}
	return errors.Join(rooted.Cause(err), f.Close())
}

// appendLines appends lines wholly or not at all, also on a full disk. It first removes an incomplete line at the end,
// from a crash of the host: lines after it could not be read.
func appendLines(f *os.File, lines []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size, last := info.Size(), make([]byte, 1)
	if _, err := f.ReadAt(last, max(size-1, 0)); err != nil && size > 0 {
		return err
	}
	if size > 0 && last[0] != '\n' {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, size))
		if err != nil {
			return err
		}
		size = int64(bytes.LastIndexByte(text, '\n') + 1)
		if err := f.Truncate(size); err != nil {
			return err
		}
	}
	if _, err := f.Write(lines); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

// A pastRun is the log of a run in the folder.
type pastRun struct {
	name    string
	size    int64
	written time.Time
}

// prune drops old runs above the limits, except those in use. Errors are ignored: the next run tries again.
func (p *Past) prune(dir *os.Root) {
	runs, contents, size := survey(dir)
	slices.SortFunc(runs, func(a, b *pastRun) int {
		if p.inUse[a.name] != p.inUse[b.name] {
			return map[bool]int{true: -1, false: 1}[p.inUse[a.name]]
		}
		return cmp.Or(b.written.Compare(a.written), strings.Compare(b.name, a.name))
	})
	oldest := p.now().Add(-maxPastAge)
	if size <= maxPastSize && (len(runs) == 0 || runs[len(runs)-1].written.After(oldest)) {
		return
	}
	kept, used := map[string]bool{}, int64(0)
	for i, r := range runs {
		text, _ := dir.ReadFile(r.name)
		used += r.size
		var own []string
		for sum := range contents {
			if !kept[sum] && bytes.Contains(text, []byte(sum)) {
				own, used = append(own, sum), used+contents[sum]
			}
		}
		if !p.inUse[r.name] && (used > maxPastSize && i > 0 || r.written.Before(oldest)) {
			for _, old := range runs[i:] {
				_ = dir.Remove(old.name)
			}
			break
		}
		for _, sum := range own {
			kept[sum] = true
		}
	}
	for sum := range contents {
		if !kept[sum] {
			_ = dir.Remove(filepath.Join(contentsName, sum))
		}
	}
}

// survey lists the logs of runs, and the contents with their sizes.
func survey(dir *os.Root) (runs []*pastRun, contents map[string]int64, size int64) {
	contents = map[string]int64{}
	for _, e := range list(dir, ".") {
		if strings.HasSuffix(e.Name(), logSuffix) {
			runs = append(runs, &pastRun{e.Name(), e.Size(), e.ModTime()})
			size += e.Size()
		}
	}
	for _, e := range list(dir, contentsName) {
		contents[e.Name()] = e.Size()
		size += e.Size()
	}
	return runs, contents, size
}

func list(dir *os.Root, name string) []fs.FileInfo {
	d, err := dir.Open(name)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.Readdir(-1)
	return entries
}
