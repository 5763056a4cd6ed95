package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Limits are how much is kept.
type Limits struct {
	Age   time.Duration // of a run, since it began; 0 is any
	Bytes int64         // of all runs together; 0 is any
}

// DefaultLimits are those of the command line.
var DefaultLimits = Limits{Age: 90 * 24 * time.Hour, Bytes: 1 << 30}

// A Pruned run is one that has been removed, or would be.
type Pruned struct {
	*Run
	Bytes int64
}

// Prune removes what is beyond the limits, the oldest first, but no run under way. A dry
// one only says what it would remove.
func (s Store) Prune(limits Limits, now time.Time, dry bool) ([]Pruned, error) {
	runs, listErr := s.List()
	errs := []error{listErr}
	var gone []Pruned
	var kept int64
	for _, r := range runs { // from the newest
		size, err := sizeOf(r.folder)
		errs = append(errs, err)
		old := limits.Age > 0 && now.Sub(r.Started) > limits.Age
		if kept += size; !old && (limits.Bytes == 0 || kept <= limits.Bytes) {
			continue
		}
		if r.running() { // one that ends prunes the others, and holds its lock as long
			continue
		}
		kept -= size
		if !dry {
			if err := os.RemoveAll(r.folder); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		gone = append(gone, Pruned{r, size})
	}
	return gone, errors.Join(errs...)
}

// pruneDaily prunes with the default limits, if that has not been done for a day.
func (s Store) pruneDaily(now time.Time) error {
	mark := filepath.Join(s.Folder, "pruned") // whose time of modification counts
	info, err := os.Stat(mark)
	if err == nil && now.Sub(info.ModTime()) < 24*time.Hour && !info.ModTime().After(now) {
		return nil
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(mark, now, now); err != nil {
		return err
	}
	_, err = s.Prune(DefaultLimits, now, false)
	return err
}

// sizeOf is the size of the files in a folder, in bytes.
func sizeOf(folder string) (int64, error) {
	var size int64
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
