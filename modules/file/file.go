package file

import (
	"context"
	"errors"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// A File is a path and its desired state. It behaves like CCM's file resource, with intended exceptions:
//   - a mode may be written "644", "0644" or "0o644";
//   - a mode may set setuid, setgid and sticky bits, and a directory keeps them if it does not;
//   - a file with the right content and a wrong owner or mode gets new attributes and is not written again, and the
//     result names a rewrite as such;
//   - ensure absent removes a symbolic link, whatever its target is;
//   - a symbolic link to a directory is never replaced by an empty directory;
//   - a path that may not be read is an error, not absent;
//   - owner, group and mode may be omitted, unless the play is strict.
type File struct {
	Name     string          `json:"name" required:"true" looks:"^/(([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+)(/([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+))*)?$" doc:"absolute path without . or .. elements"`
	Ensure   string          `json:"ensure,omitempty" enum:"present,absent,directory" default:"present" doc:"present: a file is there; directory: a directory, with its parents; absent: nothing"`
	Content  modules.Content `json:"content,omitzero" also:"contents" doc:"the whole content of the file; without content and source, a file keeps its content and a new one is empty"`
	Source   string          `json:"source,omitempty" file:"play" doc:"file next to the manifest to copy as it is, never rendered; or an https:// URL to download, http:// with a sha256 in checksum"`
	Checksum string          `json:"checksum,omitempty" looks:"^(none|(sha256:)?[0-9a-fA-F]{64})$" doc:"with a URL as source: the SHA-256 of the content in hex, with or without the prefix sha256:, or none"`
	Fetch    string          `json:"fetch,omitempty" enum:"controller,host" doc:"with a URL as source: where to download; default: on the controller, once for all hosts"`
	MaxSize  int             `json:"max_size,omitempty" doc:"with a URL as source: how large the content may be, in MiB; default 4096"`
	Owner    string          `json:"owner,omitempty" doc:"name or id of its owner; default: unchanged; for a new file, the user that the play runs as"`
	Group    string          `json:"group,omitempty" doc:"name or id of its group; default: unchanged; for a new file, the group of the user that the play runs as"`
	Mode     string          `json:"mode,omitempty" numbers:"refuse" looks:"^((0[oO])?0?[0-7]?[0-7]{3}|[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*)$" doc:"permissions in octal, such as \"0644\", or symbolic changes, such as \"u=rw,g=r,o=\" or \"g-w,a+X\"; setuid, setgid and sticky as in \"4755\", \"g+s\" or \"+t\"; directories get x wherever there is r or w; default: unchanged; 0644 for a new file, 0755 for a new directory, without access for others if sensitive"`
	Backup   bool            `json:"backup,omitempty" doc:"before new content is written, copy the file to NAME.HASH.YYYY-MM-DD@HH:MM:SS~ in the same directory: the beginning of its SHA-256, and the time of its last change in UTC"`
	// Validation has this name since Validate is a method of a resource.
	Validation string `json:"validate,omitempty" looks:"%s" doc:"command that checks new content, at the path %s, before it is put in place; any exit status except 0 refuses it; split as by exec, without a shell"`
	Recurse    bool   `json:"recurse,omitempty" doc:"with ensure directory: apply owner, group and mode to everything in it, except symbolic links and mounted file systems; an octal mode applies to directories only"`
	FileMode   string `json:"file_mode,omitempty" numbers:"refuse" looks:"^((0[oO])?0?[0-7]?[0-7]{3}|[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*)$" doc:"with recurse: the mode of everything except directories; default: mode, if it is not octal"`
	Force      bool   `json:"force,omitempty" doc:"with ensure absent: remove a directory with everything in it; a directory that contains a mount point is refused"`

	undoes, discreet bool // see Inform
	fetch            getter
}

// The values of ensure.
const (
	present   = "present"
	absent    = "absent"
	directory = "directory"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "file",
		Doc: "Keeps a file or directory as described, or removes it. Content is compared by hash and " +
			"written atomically; owner, group and mode stay unchanged unless they are given.",
		New: func() modules.Resource { return &File{fetch: fetch} },
	}
}

// Prepare implements [modules.Preparer]: on the wire, the bytes are in content, whatever their source. It leaves
// invalid properties for Validate to report.
func (f *File) Prepare(ctx context.Context, src modules.Source) (err error) {
	hasContent, hasSource := !f.Content.IsZero(), f.Source != ""
	switch {
	case hasContent && hasSource:
		return nil
	case f.Ensure == absent || f.Ensure == directory:
		f.Content, f.Source = modules.Content{}, ""
	case f.remote():
		return f.prepareRemote(ctx, src)
	case hasSource:
		if f.Content, err = src.File(ctx, f.Source); err != nil {
			return modules.Errorf("source", "%v", err)
		}
		f.Source = ""
	case hasContent:
		if f.Content, err = src.Text(ctx, f.Content); err != nil {
			return modules.Errorf("content", "%v", err)
		}
	}
	return nil
}

// Validate implements [modules.Resource].
func (f *File) Validate() error {
	errs := []error{f.validateName(), f.validateForce(), approval.Validate("validate", f.Validation)}
	if !f.Content.IsZero() && f.Source != "" {
		errs = append(errs, modules.Errorf("source", "'content' and 'source' are mutually exclusive"))
	}
	if f.Validation != "" && (f.Ensure == absent || f.Ensure == directory) {
		errs = append(errs, modules.Errorf("validate", "'validate' applies to the content of a file, and cannot be used with 'ensure: %s'", f.Ensure))
	}
	if f.Backup && (f.Ensure == absent || f.Ensure == directory) {
		errs = append(errs, modules.Errorf("backup", "'backup' applies to the content of a file, and cannot be used with 'ensure: %s'", f.Ensure))
	}
	return errors.Join(append(errs, validateMode("mode", f.Mode), validateMode("file_mode", f.FileMode), f.validateBelow(), f.validateRemote())...)
}

func (f *File) validateName() error {
	if f.Name == "/" && f.Ensure == absent {
		return modules.Errorf("ensure", "the root directory cannot be absent")
	}
	return modules.ValidatePath("name", f.Name)
}

func (f *File) validateForce() error {
	if !f.Force || f.Ensure == absent {
		return nil
	}
	ensure := f.Ensure
	if ensure == "" {
		ensure = present
	}
	return modules.Errorf("force", "'force: true' is only valid with 'ensure: absent', got 'ensure: %s'", ensure)
}

// directoryMode adds x to each class with r or w: a directory is useless without.
func directoryMode(mode fs.FileMode) fs.FileMode {
	return mode | (mode>>1|mode>>2)&0o111
}
