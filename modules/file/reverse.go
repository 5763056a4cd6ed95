package file

import (
	"context"
	"io"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (f *File) Subject() string { return f.Name }

// Inform implements [modules.Informed].
func (f *File) Inform(c modules.Circumstances) { f.undoes, f.discreet = c.Reversal, c.Sensitive }

// Reversal implements [modules.Reverser]: it restores content, owner, group and mode, and no other attribute of a file.
// A directory that did not exist is removed only if it is empty then.
//
// If the first run did not set the content and this one does, the reversal restores the current content.
func (f *File) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	whole := f.Ensure == absent || f.hasContent()
	if k, ok := kept.(*File); ok && (!whole || k.Ensure != present || k.hasContent()) {
		return nil, nil
	}
	at, err := look(h.Files, f.Name)
	c := &comparison{File: f, h: h, at: at}
	switch {
	case f.Recurse && at.Kind == modules.Directory:
		return nil, modules.Refuse(`"recurse" changes the files in %s, which a file resource cannot restore`, f.Name)
	case err != nil:
		return nil, modules.PermissionRefusal(err)
	case at.link:
		return nil, modules.Refuse("the path %s is a symlink, which a file resource cannot restore; use a link resource", f.Name)
	case at.Kind == modules.Absent:
		return c.none()
	case at.Kind == modules.Directory:
		err = c.sameDirectory()
	}
	if err != nil {
		return nil, err
	}
	properties := map[string]any{
		"ensure": present, "owner": strconv.Itoa(at.UID), "group": strconv.Itoa(at.GID), "mode": modules.FormatMode(at.Mode),
	}
	switch {
	case at.Kind == modules.Directory:
		properties["ensure"], properties["mode"] = directory, "0"+modules.FormatMode(at.Mode) // exactly that
	case whole:
		data, err := c.bytes()
		if err != nil {
			return nil, err
		}
		// not as a [modules.Content], which is written as a hash if it is long
		properties["content"] = map[string]any{"data": data}
	}
	if k, ok := kept.(*File); ok {
		properties["owner"], properties["group"], properties["mode"] = k.Owner, k.Group, k.Mode
	}
	return properties, nil
}

// none is the reversal for a path that did not exist.
func (c *comparison) none() (map[string]any, error) {
	if c.Ensure == directory {
		parents, err := missingParents(c.h.Files, c.Name)
		if err != nil {
			return nil, err
		}
		if len(parents) > 0 {
			return nil, modules.Refuse("the directory %s would also be created, and a later reversal would not remove it; write a separate resource for this directory", parents[0])
		}
	}
	return map[string]any{"ensure": absent}, nil
}

// sameDirectory refuses a directory that could not be recreated with the same attributes.
func (c *comparison) sameDirectory() error {
	if perm := c.at.Mode.Perm(); directoryMode(perm) != perm {
		return modules.Refuse("%s has mode %s, which a file resource cannot set on a directory", c.Name, modules.FormatMode(c.at.Mode))
	}
	if c.Ensure != absent {
		return nil
	}
	names, err := c.h.Files.List(c.Name)
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		return modules.Refuse("%s is a directory that is not empty", c.Name)
	}
	return nil
}

// bytes is the content of a file.
func (c *comparison) bytes() ([]byte, error) {
	switch {
	case c.at.Kind != modules.Regular:
		return nil, modules.Refuse("%s is a device, socket or pipe", c.Name)
	case c.at.Links > 1:
		return nil, modules.Refuse("the file %s has %d names (hard links), and a file resource can restore only this name", c.Name, c.at.Links)
	case c.at.Size > modules.MaxKept:
		return nil, tooLarge(c.Name)
	}
	r, err := modules.OpenSeen(c.h.Files, c.Name, c.at.FileInfo)
	if err != nil {
		return nil, modules.PermissionRefusal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, modules.MaxKept+1))
	if err == nil && len(data) > modules.MaxKept {
		err = tooLarge(c.Name)
	}
	if data == nil {
		data = []byte{} // empty content is a content, too
	}
	return data, err
}

func tooLarge(name string) error {
	return modules.Refuse("%s is larger than the %d KiB that can be kept of a file", name, modules.MaxKept>>10)
}
