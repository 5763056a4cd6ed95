package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxKept bounds the files that [OrPutBack] keeps: 16 MiB.
const maxKept = 16 << 20

// OrPutBack calls change, which changes the files at paths and then has the kernel or a program load
// them. If change fails, OrPutBack restores the files, so the next boot does not load refused content.
// The error names each file that could not be restored.
func OrPutBack(ctx context.Context, h Host, paths []string, change func() error) error {
	var kept []keptFile
	for _, path := range paths {
		k, err := keepFile(h, path)
		if err != nil {
			return fmt.Errorf("%s cannot be kept before it is changed: %w", path, err)
		}
		kept = append(kept, k)
	}
	err := change()
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	for _, k := range slices.Backward(kept) {
		if left := k.putBack(ctx, h); left != nil {
			err = fmt.Errorf("%w; %s has changed and could not be restored: %w", err, k.path, left)
		}
	}
	return err
}

// A keptFile holds the earlier content of a path.
type keptFile struct {
	path    string
	is      FileInfo
	content Content
	given   Attributes
}

func keepFile(h Host, path string) (keptFile, error) {
	k := keptFile{path: path}
	var err error
	k.is, err = h.Files.Stat(path)
	switch {
	case NotThere(err):
		k.is = FileInfo{Kind: Absent}
		return k, nil
	case err != nil || k.is.Kind != Regular:
		return k, err
	case k.is.Size > maxKept:
		return k, fmt.Errorf("it is larger than %s", FormatSize(maxKept))
	}
	k.given = Attributes{Mode: k.is.Mode, UID: k.is.UID, GID: k.is.GID}
	if h.Files.Xattrs != nil {
		if k.given.Xattrs, err = h.Files.Xattrs(path, k.is); err != nil {
			return k, err
		}
	}
	file, err := OpenSeen(h.Files, path, k.is)
	if err != nil {
		return k, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKept+1))
	if err == nil && len(text) > maxKept {
		err = errors.New("it grew while it was read")
	}
	k.content = TextContent(string(text))
	return k, err
}

func (k *keptFile) putBack(ctx context.Context, h Host) error {
	now, err := keepFile(h, k.path)
	if err != nil {
		return err
	}
	now.is.Links = k.is.Links
	if now.is == k.is && now.content.SHA256() == k.content.SHA256() {
		return nil
	}
	switch k.is.Kind {
	case Absent:
		return h.Files.Remove(ctx, k.path, false)
	case Symlink:
		return h.Files.Symlink(ctx, k.path, k.is.Target)
	case Regular:
		text, err := LocalContents{}.Open(ctx, k.content)
		if err != nil {
			return err
		}
		defer text.Close()
		return h.Files.Write(ctx, k.path, text, k.given)
	}
	return nil // a directory, which is not replaced
}
