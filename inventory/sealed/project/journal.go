package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
)

// journalName is the name of a file with all texts that a rekey writes. Once the file has this name the rekey has
// happened: the next run completes it.
const journalName = ".ccm-secrets.rekey"

// A replacement is one file of a journal.
type replacement struct {
	Path   string `json:"path"`   // from the root, with slashes
	Before string `json:"before"` // hash of the text that it replaces
	Text   []byte `json:"text"`
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// replaceAll writes all files, or none. If SIGKILL or a power failure ends it before the journal has its name, no file
// has changed; after that, the next [Of] completes it. Each single file is complete at any time.
func (p *Project) replaceAll(files []replacement) error {
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	journal := filepath.Join(p.Root, journalName)
	temp := tempOf(journal)
	err = p.disk.write(temp, text, 0o600)
	if err == nil {
		err = p.disk.rename(temp, journal)
	}
	if err != nil {
		return errors.Join(err, p.disk.remove(temp))
	}
	return complete(p.Root, files, p.disk)
}

// complete applies a journal, and removes it.
func complete(root string, files []replacement, d disk) error {
	for _, r := range files {
		path, err := within(root, r.Path)
		if err != nil {
			return err
		}
		now, err := os.ReadFile(path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err == nil && hashOf(now) == hashOf(r.Text):
			continue
		case err != nil || hashOf(now) != r.Before:
			return fmt.Errorf("the file %s was changed before a rekey was complete\n  hint: restore the file (git checkout), then run the command again; to cancel the rekey, remove %s",
				shown(path), shown(filepath.Join(root, journalName)))
		}
		if err := d.replace(path, r.Text); err != nil {
			return err
		}
	}
	return d.remove(filepath.Join(root, journalName))
}

// within returns the path of a file in a journal. In a shared project another user may have written the journal, so a
// link that leads out of the project is an error.
func within(root, path string) (string, error) {
	outside := fmt.Errorf("%s: the path %q is not in this project\n  hint: ccm-push did not write this journal: remove the journal file", shown(filepath.Join(root, journalName)), path)
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return "", outside
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	want := filepath.Join(realRoot, filepath.FromSlash(path))
	real, err := filepath.EvalSymlinks(want)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the caller reports it when it reads the file
		return want, nil
	case err != nil:
		return "", err
	case real != want:
		return "", outside
	}
	return filepath.Join(root, filepath.FromSlash(path)), nil
}

// recoverIn completes a rekey that was ended in between.
func recoverIn(root string, d disk) error {
	if _, err := os.Lstat(filepath.Join(root, journalName)); err != nil {
		return nil
	}
	unlock, err := lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	return recoverLocked(root, d)
}

// recoverLocked is recoverIn for a caller that has the lock.
func recoverLocked(root string, d disk) error {
	journal := filepath.Join(root, journalName)
	text, err := os.ReadFile(journal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("a rekey is not complete: %w", err)
	}
	var files []replacement
	if err := json.Unmarshal(text, &files); err != nil {
		return fmt.Errorf("%s: %w\n  hint: ccm-push did not write this journal: remove the journal file", shown(journal), err)
	}
	return complete(root, files, d)
}

// locked has no other ccm-push change the project until unlock, and nothing left to complete.
func (p *Project) locked() (unlock func(), err error) {
	if unlock, err = lock(p.Root); err != nil {
		return nil, err
	}
	if err := recoverLocked(p.Root, p.disk); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

func lock(root string) (unlock func(), err error) {
	f, err := os.Open(filepath.Join(root, recipients.FileName))
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", shown(f.Name()), err)
	}
	return func() { f.Close() }, nil
}
