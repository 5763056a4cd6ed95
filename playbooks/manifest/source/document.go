package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// ReadParameters reads a parameter file of DSC documents.
func ReadParameters(ctx context.Context, path string) (*yamlpos.Node, error) {
	data, err := read(ctx, path, "parameter file")
	if err != nil {
		return nil, err
	}
	return oneDocument(path, data)
}

// oneDocument parses a file that holds one document.
func oneDocument(path string, data []byte) (*yamlpos.Node, error) {
	documents, err := yamlpos.Parse(path, withoutBOM(data))
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, (&yamlpos.Node{File: path, Line: 1, Column: 1}).Errorf("", "the file is empty")
	case len(documents) > 1:
		return nil, documents[1].Errorf("", "the file holds more than one document")
	}
	return documents[0], nil
}

// withoutBOM takes off the byte order mark that editors on Windows write.
func withoutBOM(data []byte) []byte {
	text, _ := strings.CutPrefix(string(data), "\ufeff")
	return []byte(text)
}

// DocumentBelow reads a DSC document, or parameters of one, that the document f includes, directly or through others.
// base is the name of the including file, path is the path written in it, at is the place. The file must be in the
// folder of f or below it. The result is the document and its name.
func (f File) DocumentBelow(at *yamlpos.Node, base, path string) (*yamlpos.Node, string, error) {
	root, err := os.OpenRoot(f.Folder())
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	if filepath.IsAbs(path) {
		return nil, "", at.Errorf("give a path relative to the document", "%s is an absolute path", path)
	}
	whole := filepath.Join(filepath.Dir(base), path)
	name, err := filepath.Rel(filepath.Dir(f.Name()), whole)
	if err != nil {
		return nil, "", at.Errorf("", "%v", err)
	}
	// Without O_NONBLOCK, opening a named pipe would wait for a writer.
	opened, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", at.Errorf("", "unknown document %s", whole)
	} else if err != nil && withoutPath(err).Error() == "path escapes from parent" { // os.Root has no sentinel for it
		return nil, "", at.Errorf("move the file: documents and parameters are included only from the folder of the document, or from a folder in it", "%s is outside the folder of the document", whole)
	} else if err != nil {
		return nil, "", at.Errorf("", "reading %s: %v", whole, withoutPath(err))
	}
	defer opened.Close()
	if info, err := opened.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, "", at.Errorf("", "%s is not a regular file", whole)
	}
	data, err := io.ReadAll(io.LimitReader(opened, yamlpos.MaxRead))
	if err != nil {
		return nil, "", at.Errorf("", "reading %s: %v", whole, withoutPath(err))
	}
	n, err := oneDocument(whole, data)
	return n, whole, err
}

// withoutPath is the cause of an error, whose path is named otherwise.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
