package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// MaxBytes is the number of bytes that are read of a file. yamlpos refuses a file of this size.
const MaxBytes = yamlpos.MaxRead

// read reads the file at path. If it is a pipe, the end of ctx ends the wait for it.
func read(ctx context.Context, path string, info fs.FileInfo) ([]byte, error) {
	if info.IsDir() {
		return nil, isFolder(path)
	}
	data, err := yamlpos.ReadFile(ctx, path)
	if err != nil {
		return nil, Error(path, err)
	}
	return data, nil
}

func isFolder(path string) error {
	return &yamlpos.Error{File: path, Msg: "is a folder, not a file"}
}

// ReadAll reads the rest of f, up to [MaxBytes]. path is the path with which f was opened; a folder is an error. It
// returns the errors of [Error].
func ReadAll(f *os.File, path string) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, Error(path, err)
	case info.IsDir():
		return nil, isFolder(path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes))
	if err != nil {
		return nil, Error(path, err)
	}
	return data, nil
}

// Error reports that reading path ended with err, an error of package os. It omits the path in err, since the position
// names it already. fs.ErrNotExist is returned unchanged.
func Error(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &yamlpos.Error{File: path, Msg: "reading the inventory: " + err.Error()}
}
