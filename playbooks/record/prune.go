package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Limits bound the kept records.
type Limits struct {
	Age   time.Duration // age of a run, since it began; 0 means any
	Bytes int64         // size of all runs together; 0 means any
	// Damaged removes records that cannot be read, whatever their age. Without it they are removed
	// when they are too old.
	Damaged bool
}

// DefaultLimits are the default limits of the command line.
var DefaultLimits = Limits{Age: 90 * 24 * time.Hour, Bytes: 1 << 30}

// A Pruned is a run that has been removed, or would be.
type Pruned struct {
	Run, What string // What is empty if the record is damaged
	Bytes     int64
}

// Prune removes records beyond the limits, except runs that are in progress and records of a newer ccm-push. With dry
// it only returns the runs that it would remove.
func (s Store) Prune(limits Limits, now time.Time, dry bool) ([]Pruned, error) {
	runs, unreadable, err := s.list()
	if err != nil {
		return nil, err
	}
	var errs []error
	var gone []Pruned
	var kept int64
	remove := func(r *Run, what string, size int64) {
		if !dry {
			if err := os.RemoveAll(r.folder); err != nil {
				errs = append(errs, err)
				return
			}
		}
		gone = append(gone, Pruned{filepath.Base(r.folder), what, size})
	}
	for _, u := range unreadable {
		r := &Run{folder: s.FolderOf(u.Run)}
		age := now.Sub(timeOfID(u.Run))
		// A run without a header may begin just now.
		damaged := limits.Damaged && (!errors.Is(u.Err, fs.ErrNotExist) || age > time.Hour)
		if errors.Is(u.Err, ErrNewer) || r.running() || !damaged && (limits.Age == 0 || age <= limits.Age) {
			continue
		}
		size, err := sizeOf(r.folder)
		errs = append(errs, err)
		remove(r, "", size)
	}
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
		remove(r, r.What, size)
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
