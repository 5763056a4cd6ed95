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

// TakeIn starts to receive a record from another machine. Its directory is replaced by a folder of this machine, since
// the other machine's folder has no meaning here.
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

// Keep makes a run of the received record. If the run exists by now, the existing one is kept.
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

// Drop removes the received record.
func (i *Incoming) Drop() error { return errors.Join(i.events.Close(), os.RemoveAll(i.folder)) }
