// Package inputs knows the files of the controller from which something was made, such as manifests, data, templates
// and inventories, and notices changes. Readers report files with [Files.Note]. The package polls the file system,
// which works everywhere: for a hundred files that takes a fraction of a millisecond.
package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Files are the files that were read, and the folders that were listed. The zero value has none. Many goroutines may
// use it at once; a nil one records nothing.
type Files struct {
	mu     sync.Mutex
	known  map[string]state  // state when last noted, by absolute path
	hashes map[string]string // hashes of known files for which [Files.Hashes] was called
}

// A state is the state of a file or a folder as seen from outside.
type state struct {
	info  fs.FileInfo // nil if it cannot be examined: usually, it does not exist
	names string      // names in the folder
}

// same reports whether nothing has been written.
func (s state) same(other state) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil
	}
	if s.info.IsDir() && other.info.IsDir() {
		return s.names == other.names
	}
	return os.SameFile(s.info, other.info) && s.info.Size() == other.info.Size() && s.info.ModTime().Equal(other.info.ModTime()) && s.info.Mode() == other.info.Mode()
}

// look returns the state of a path.
func look(path string) state {
	info, err := os.Stat(path)
	if err != nil {
		return state{}
	}
	s := state{info: info}
	if !info.IsDir() {
		return s
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return s
	}
	var names strings.Builder
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") { // editors leave such
			names.WriteString(name)
			names.WriteByte(0)
		}
	}
	s.names = names.String()
	return s
}

// Note records a file before it is read, or a folder before it is listed. The path need not exist.
func (f *Files) Note(path string) {
	if f == nil {
		return
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return // there is no working folder to watch anything in
	}
	now := look(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[string]state{}
	}
	if _, noted := f.known[path]; !noted {
		f.known[path] = now
	}
}

// Hashes returns the SHA-256 of each noted file, in hex, by absolute path. For a folder it hashes the
// names in it. A missing path has the hash "", and a path that changed since it was noted has the
// text "changed". Hashes reads each path once. It returns nil if it has no more than have paths.
func (f *Files) Hashes(have int) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) <= have {
		return nil
	}
	for path, was := range f.known {
		if _, done := f.hashes[path]; done {
			continue
		}
		if f.hashes == nil {
			f.hashes = map[string]string{}
		}
		if f.hashes[path] = hashOf(path, was); !was.same(look(path)) {
			f.hashes[path] = "changed"
		}
	}
	return maps.Clone(f.hashes)
}

// Hash returns the hash that [Files.Hashes] would return for a path.
func Hash(path string) string { return hashOf(path, look(path)) }

func hashOf(path string, s state) string {
	sum := sha256.New()
	switch {
	case s.info == nil:
		return ""
	case s.info.IsDir():
		_, _ = io.WriteString(sum, s.names)
	case !s.info.Mode().IsRegular():
		return ""
	default:
		file, err := os.Open(path)
		if err != nil {
			return ""
		}
		defer file.Close()
		if _, err := io.Copy(sum, file); err != nil {
			return ""
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// changed returns the paths that have changed since they were noted, with their current state.
func (f *Files) changed() map[string]state {
	f.mu.Lock()
	noted := maps.Clone(f.known)
	f.mu.Unlock()
	maps.DeleteFunc(noted, func(path string, was state) bool {
		now := look(path)
		noted[path] = now
		return was.same(now)
	})
	return noted
}

// Wait checks the files at this interval. When some have changed, and no more have for one interval, it returns their
// paths and notes their new state. At the end of ctx it returns none.
func (f *Files) Wait(ctx context.Context, every time.Duration) []string {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var before map[string]state
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := f.changed()
		if len(now) > 0 && maps.EqualFunc(before, now, state.same) {
			f.mu.Lock()
			maps.Copy(f.known, now)
			f.mu.Unlock()
			return slices.Sorted(maps.Keys(now))
		}
		before = now
	}
}
