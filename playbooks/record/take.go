package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// An Incoming is the record of a run that was made on another machine, as it comes in here. There is no
// such run before it is whole.
type Incoming struct {
	store  Store
	folder string // a temporary name
	header Header
	events *os.File
	end    *End
}

// TakeIn begins to take in a record. In this machine's place it is about a folder of its own: that of
// the other one means nothing here.
func (s Store) TakeIn(h Header, directory string) (*Incoming, error) {
	if err := s.make(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(s.Folder, "incoming-") // which has mode 0700
	if err != nil {
		return nil, err
	}
	h.Directory = directory
	file, err := os.OpenFile(filepath.Join(folder, eventsFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return &Incoming{store: s, folder: folder, header: h, events: file}, nil
}

// Lines takes lines of events.
func (i *Incoming) Lines(text []byte) error {
	_, err := i.events.Write(text)
	return err
}

// End takes the end of the run.
func (i *Incoming) End(e End) { i.end = &e }

// Keep makes a run of what has come in. If there is one by now, that stays.
func (i *Incoming) Keep() error {
	err := errors.Join(i.events.Sync(), i.events.Close())
	if err == nil && i.end != nil {
		err = writeJSON(i.folder, endFile, i.end)
	}
	if err == nil {
		err = writeJSON(i.folder, headerFile, i.header)
	}
	if err == nil {
		err = os.Rename(i.folder, i.store.FolderOf(i.header.Run))
	}
	if err == nil {
		return syncFolder(i.store.Folder)
	}
	if err != nil {
		removeErr := os.RemoveAll(i.folder)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		return errors.Join(err, removeErr)
	}
	return nil
}

// Drop removes what has come in.
func (i *Incoming) Drop() error { return errors.Join(i.events.Close(), os.RemoveAll(i.folder)) }
