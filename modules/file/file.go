package file

import (
	"context"
	"errors"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// A File is a path and what shall be there. It does what CCM's file resource
// does, except that on purpose:
//   - a mode may be written "644", "0644" or "0o644";
//   - a directory keeps setgid and sticky bits, which a mode cannot write;
//   - a file whose content is right and whose owner or mode is wrong gets new
//     attributes instead of being written again, and rewriting is called so;
//   - a symbolic link is removed by ensure absent, wherever it leads;
//   - a symbolic link to a directory is never replaced by an empty directory;
//   - what may not be looked at is an error, not absent.
type File struct {
	Name    string          `json:"name" required:"true" looks:"^/(([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+)(/([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+))*)?$" doc:"absolute path without . or .. elements"`
	Ensure  string          `json:"ensure,omitempty" enum:"present,absent,directory" default:"present" doc:"present: a file is there; directory: a directory, with its parents; absent: nothing"`
	Content modules.Content `json:"content,omitzero" also:"contents" doc:"the whole content of the file; left out together with source, a file keeps what it holds and a new one is empty"`
	Source  string          `json:"source,omitempty" file:"play" doc:"file beside the manifest whose bytes are the content; never rendered"`
	Owner   string          `json:"owner,omitempty" doc:"name or id of the user it belongs to; required unless absent"`
	Group   string          `json:"group,omitempty" doc:"name or id of its group; required unless absent"`
	Mode    string          `json:"mode,omitempty" numbers:"refuse" looks:"^(0[oO])?0?[0-7]{3}$" doc:"permissions in octal, such as \"0644\"; directories get x wherever there is r or w; required unless absent"`
	Force   bool            `json:"force,omitempty" doc:"with ensure absent: remove a directory with all that is in it"`

	undoes bool // see Tell
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
		Doc: "Keeps a file or directory as described, or away. Content is compared by hash and " +
			"written atomically; owner, group and mode are always given.",
		New: func() modules.Resource { return new(File) },
	}
}

// Prepare implements [modules.Preparer]: on the wire, the bytes are in content
// wherever they came from. What makes no sense is left for Validate to report.
func (f *File) Prepare(ctx context.Context, src modules.Source) (err error) {
	hasContent, hasSource := !f.Content.IsZero(), f.Source != ""
	switch {
	case hasContent && hasSource:
		return nil
	case f.Ensure == absent || f.Ensure == directory:
		f.Content, f.Source = modules.Content{}, ""
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
	errs := []error{f.validateName(), f.validateForce()}
	if !f.Content.IsZero() && f.Source != "" {
		errs = append(errs, modules.Errorf("source", "'content' and 'source' are mutually exclusive"))
	}
	if f.Ensure != absent {
		errs = append(errs, given("owner", f.Owner), given("group", f.Group), given("mode", f.Mode))
	}
	if f.Mode != "" {
		_, err := modules.ParseMode(f.Mode)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
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

func given(property, value string) error {
	if value == "" {
		return modules.Errorf(property, "%s cannot be empty", property)
	}
	return nil
}

// directoryMode adds x for whoever has r or w: a directory is of no use without.
func directoryMode(mode fs.FileMode) fs.FileMode {
	return mode | (mode>>1|mode>>2)&0o111
}
