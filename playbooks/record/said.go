package record

import (
	"io"
	"os"
	"path/filepath"
)

// saidFile has the output of a run's program that has no terminal: warnings, and why it has ended.
const saidFile = "stderr.txt"

// KeepSaid opens the file for the output of a run's program, next to its record.
func (s Store) KeepSaid(id string) (*os.File, error) {
	return os.OpenFile(filepath.Join(s.FolderOf(id), saidFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Said reads what the program of a run has said so far, and may be read on from later. A run on a
// terminal has none: the error wraps [fs.ErrNotExist].
func (r *Run) Said() (io.ReadCloser, error) { return os.Open(filepath.Join(r.folder, saidFile)) }
