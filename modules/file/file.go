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
	Ensure   string          `json:"ensure,omitempty" enum:"present,absent,directory" default:"present" doc:"present: a file; directory: a directory with its parents; absent: neither"`
	Content  modules.Content `json:"content,omitzero" also:"contents" doc:"whole content; without content and source, a file keeps its content, and a new file is empty"`
	Source   string          `json:"source,omitempty" file:"play" doc:"file next to the manifest, copied without rendering; or URL: https://, or http:// with checksum"`
	Checksum string          `json:"checksum,omitempty" looks:"^(none|(sha256:)?[0-9a-fA-F]{64})$" doc:"URL: SHA-256 in hex, or none"`
	Fetch    string          `json:"fetch,omitempty" enum:"controller,host" doc:"URL: where to download; default: controller, once for all hosts"`
	MaxSize  int             `json:"max_size,omitempty" doc:"URL: maximum size in MiB; default: 4096"`
	Owner    string          `json:"owner,omitempty" doc:"name or id of the owner; default: unchanged; new file: user of the play"`
	Group    string          `json:"group,omitempty" doc:"name or id of the group; default: unchanged; new file: group of that user"`
	Mode     string          `json:"mode,omitempty" numbers:"refuse" looks:"^((0[oO])?0?[0-7]?[0-7]{3}|[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*)$" doc:"octal, such as \"0644\" or \"4755\"; or symbolic, such as \"u=rw,g=r,o=\" or \"g-w,a+X\"; default: unchanged; new: 0644, directories 0755, without access for others if sensitive"`
	Backup   bool            `json:"backup,omitempty" doc:"first copy an old file to NAME.HASH.YYYY-MM-DD@HH:MM:SS~: start of its SHA-256, and its time of change in UTC"`
	// Validation has this name since Validate is a method of a resource.
	Validation string `json:"validate,omitempty" looks:"%s" doc:"command that checks new content, at the path %s; if it fails, the file stays; split as by exec, without a shell"`
	Recurse    bool   `json:"recurse,omitempty" doc:"directory: apply owner, group and mode to everything below"`
	FileMode   string `json:"file_mode,omitempty" numbers:"refuse" looks:"^((0[oO])?0?[0-7]?[0-7]{3}|[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*)$" doc:"recurse: mode of files; default: mode, if symbolic"`
	Force      bool   `json:"force,omitempty" doc:"absent: remove a directory with everything in it, but no mount point"`

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
		Doc:  "Writes, copies, downloads or removes a file, or creates or removes a directory. Content is compared by hash and written atomically.",
		New:  func() modules.Resource { return &File{fetch: fetch} },
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
			return modules.AboutProperty("source", err)
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
