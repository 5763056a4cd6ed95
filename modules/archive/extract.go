package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive/format"
)

// packed is an archive to be unpacked.
type packed struct {
	file     io.ReaderAt
	size     int64 // bytes
	format   format.Format
	maxSize  int64 // bytes that may come out of it
	maxRatio int64 // limit of its contents, as a multiple of its own size; 0 means none
}

// An unpacker is an unpack.Archive.
type unpacker interface {
	// Inspect reads all of it and counts entries, and the bytes of files.
	Inspect(ctx context.Context) (entries int, bytes int64, err error)
	// Extract unpacks it and returns the number of entries in place. The last one is put in place last, after sync has
	// written the others to disk.
	Extract(ctx context.Context, into *os.Root, last string, sync func(*os.Root) error) (entries int, err error)
	// Names are its paths, once it is inspected.
	Names() []string
	// Top names some of the entries that are outside of any folder, once the archive is inspected.
	Top() []string
}

// An opener returns the unpacker of an archive.
type opener func(packed) unpacker

// extract unpacks the archive, if all of it is valid.
func (open opener) extract(ctx context.Context, a *Archive, h modules.Host, own *stagingFile) error {
	size, err := own.size()
	if err != nil {
		return err
	}
	p := packed{file: own.file, size: size, format: format.Of(path.Base(a.Name)), maxSize: a.maxSize()}
	if a.MaxSize == 0 {
		p.maxRatio = usualRatio
	}
	archive := open(p)
	entries, bytes, err := archive.Inspect(ctx)
	if err != nil {
		return fmt.Errorf("%w (nothing was extracted)", err)
	}
	keep(ctx, h, a.ExtractParent, archive.Names())
	into, err := openParent(ctx, h.Files, a.ExtractParent)
	if err != nil {
		return err
	}
	defer into.Close()
	done, err := archive.Extract(ctx, into, a.marker(), h.Files.Sync)
	if err != nil {
		return fmt.Errorf("%w (%d of %d entries were extracted)", err, done, entries)
	}
	if err := a.created(h.Files, archive.Top()); err != nil {
		return err
	}
	h.Report.Message("info", fmt.Sprintf("extracted %s, %s", counted(entries, "entry", "entries"), modules.FormatSize(bytes)))
	return nil
}

// keep stores existing files for a reversal before they are replaced.
func keep(ctx context.Context, h modules.Host, parent string, names []string) {
	if h.Keep == nil {
		return
	}
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = path.Join(parent, name)
	}
	h.Keep(ctx, all...)
}

// created returns an error if the path in creates does not exist after the archive has been unpacked.
func (a *Archive) created(files modules.FileReader, top []string) error {
	lacks, err := missing(files, a.Creates)
	if err != nil || !lacks {
		return err
	}
	has := strings.Join(top, ", ")
	if a.marker() == "" {
		return modules.Refuse(`%q is still not there, and not below "extract_parent"; correct "creates"`, a.Creates)
	}
	return modules.Refuse(`the path %q is not in the archive, which contains %s, unpacked into %q; correct the property "creates" or "extract_parent"`, a.Creates, has, a.ExtractParent)
}

// openParent opens the directory to unpack into, and creates it if it is missing.
func openParent(ctx context.Context, files modules.Files, name string) (*os.Root, error) {
	dir, err := files.OpenDirectory(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := files.MakeDir(ctx, name, modules.Attributes{Mode: 0o755, UID: -1, GID: -1}); err != nil {
		return nil, err
	}
	return files.OpenDirectory(name)
}

// marker is the entry of the archive that creates names; empty if the entry is not in the archive.
func (a *Archive) marker() string {
	below, ok := strings.CutPrefix(a.Creates, strings.TrimSuffix(a.ExtractParent, "/")+"/")
	if !ok {
		return ""
	}
	return below
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
