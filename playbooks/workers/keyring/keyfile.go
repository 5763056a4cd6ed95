package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// Keys list the public keys of the parties that may act. A [Keyring] never changes, a [KeyFile] follows its file.
type Keys interface{ Ring() Keyring }

// Ring implements [Keys].
func (k Keyring) Ring() Keyring { return k }

// A KeyFile is a list of keys that is read again when its file changes.
type KeyFile struct {
	path   string
	say    func(string)
	limits bool // lines may have options

	mu       sync.Mutex
	seen     fs.FileInfo // nil means that the file is missing
	ring     Keyring
	reported string // last line that say got
}

// OpenKeyFile reads a list in the format of authorized_keys, without options. say gets a line for each later change of the list, and for each error; it may be nil.
func OpenKeyFile(path string, say func(string)) (*KeyFile, error) {
	return openKeyFile(&KeyFile{path: path, say: say})
}

// OpenWorkerList is [OpenKeyFile] for a list of workers: options before a key limit which hosts its worker gets ([Entry]).
func OpenWorkerList(path string, say func(string)) (*KeyFile, error) {
	return openKeyFile(&KeyFile{path: path, say: say, limits: true})
}

func openKeyFile(f *KeyFile) (*KeyFile, error) {
	if info, err := os.Stat(f.path); err == nil {
		f.seen = info
	}
	var err error
	f.ring, err = readKeyring(f.path, f.limits)
	return f, err
}

// OpenOptionalKeyFile is [OpenKeyFile] for a list that may be missing: it is empty until there is a file.
func OpenOptionalKeyFile(path string, say func(string)) (*KeyFile, error) {
	f, err := OpenKeyFile(path, say)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f, err
}

// Ring implements [Keys]. It reads the file again if that has changed. A file that is missing or has no keys any more admits no key;
// after any other error the last list stays in use.
func (f *KeyFile) Ring() Keyring {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && f.seen == nil || err == nil && sameFile(f.seen, info) {
		return f.ring
	}
	f.seen = info // nil after an error
	var ring Keyring
	if err == nil {
		ring, err = readKeyring(f.path, f.limits)
		missing = errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoKey)
	}
	switch {
	case err == nil, missing:
		if text := changes(f.ring, ring); text != "" {
			f.report(fmt.Sprintf("%s has changed: %s", f.path, text))
		}
		f.ring = ring
	default:
		f.report(fmt.Sprintf("%s has changed and is not valid; the last version stays in use: %v", f.path, err))
	}
	return f.ring
}

func (f *KeyFile) report(text string) {
	if f.say != nil && f.reported != text { // an unreadable file is tried again with each message
		f.say(text)
	}
	f.reported = text
}

// String returns the path of the file.
func (f *KeyFile) String() string { return f.path }

// sameFile reports whether a file has the same content as before, by its metadata.
func sameFile(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// changes names the keys that a list has gained and lost.
func changes(before, now Keyring) string {
	var parts []string
	for _, c := range []struct {
		what      string
		of, other Keyring
	}{{"added", now, before}, {"removed", before, now}} {
		var names []string
		for _, key := range slices.Sorted(maps.Keys(c.of)) {
			if _, both := c.other[key]; !both {
				names = append(names, c.of[key].Name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, c.what+" "+strings.Join(names, ", "))
		}
	}
	var limited []string
	for _, key := range slices.Sorted(maps.Keys(now)) {
		a, b := before[key], now[key]
		if _, both := before[key]; both && !(slices.Equal(a.Sites, b.Sites) && slices.Equal(a.From, b.From)) {
			limited = append(limited, b.Name)
		}
	}
	if len(limited) > 0 {
		parts = append(parts, "other options for "+strings.Join(limited, ", "))
	}
	if len(now) == 0 {
		parts = append(parts, "it has no key")
	}
	return strings.Join(parts, "; ")
}
