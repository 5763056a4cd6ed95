package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A disk writes files. The zero disk writes to the machine's disk without interference.
type disk struct {
	// before is called before each step that changes something; an error of it ends the step.
	// nil lets all pass. Tests end programs so.
	before func(step string) error
	// part is the number of bytes written in one step; 0 writes all.
	part int
}

func (d disk) step(name string) error {
	if d.before == nil {
		return nil
	}
	return d.before(name)
}

// write makes a file whose bytes are on the disk when it returns.
func (d disk) write(path string, text []byte, mode fs.FileMode) error {
	if err := d.step("create " + path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for len(text) > 0 {
		n := len(text)
		if d.part > 0 {
			n = min(n, d.part)
		}
		if err := d.step("write " + path); err != nil {
			return err
		}
		if _, err := f.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	if err := d.step("sync " + path); err != nil {
		return err
	}
	return errors.Join(f.Chmod(mode), f.Sync(), f.Close())
}

func (d disk) rename(from, to string) error {
	if err := d.step("rename " + from); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

func (d disk) remove(path string) error {
	if err := d.step("remove " + path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder has the names in a folder be on the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// replace writes a file again, completely or not at all; a link to it stays a link, and its mode is kept.
func (d disk) replace(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = real
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp := tempOf(path)
	err := d.write(temp, text, mode)
	if err == nil {
		err = d.rename(temp, path)
	}
	if err != nil {
		err = errors.Join(err, d.remove(temp))
	}
	return err
}

// tempOf returns the name of a file until it is complete. It is the same each time, so that a leftover is overwritten.
func tempOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+tempSuffix)
}

const tempSuffix = ".ccm-push-new"
