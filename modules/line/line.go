package line

import (
	"cmp"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Line is a line or a block of lines in a file. The line to replace, the place of a new one and the treatment of
// several follow Ansible's lineinfile and blockinfile, with intended exceptions:
//   - with a regexp that does not match the line itself, a file that has the line is not changed, so that a second run
//     never changes anything;
//   - ensure absent removes the lines that match the regexp, and the line itself;
//   - the file keeps its kind of line ends, also at its end;
//   - markers that are not in order are an error, not a reason for a second block;
//   - a symbolic link is not written through.
type Line struct {
	Name   string `json:"name" required:"true" doc:"path of the file, or any text if path is given"`
	Path   string `json:"path,omitempty" looks:"^/" doc:"absolute path of the file, without . or .. elements; default: the name"`
	Ensure string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the line or block is in the file"`
	Line   string `json:"line,omitempty" doc:"the line; required for present, unless there is a block; for absent, every such line is removed"`
	Regexp string `json:"regexp,omitempty" doc:"regular expression (RE2); present: the last line that it matches is replaced by line; absent: all matching lines are removed"`
	Block  string `json:"block,omitempty" doc:"lines to keep between two marker lines, instead of line"`
	Marker string `json:"marker,omitempty" doc:"the marker lines, where {mark} becomes BEGIN and END; default: # {mark} ccm-push NAME; keep it when you rename the resource"`
	After  string `json:"after,omitempty" also:"insertafter" doc:"a new line or block goes below the last line that this regular expression matches; BOF: to the beginning of the file; EOF: to its end; default, and if no line matches: EOF"`
	Before string `json:"before,omitempty" also:"insertbefore" doc:"as after, but above the last line that matches"`
	Create bool   `json:"create,omitempty" doc:"create the file if it is missing; without this, a missing file is an error"`
	Owner  string `json:"owner,omitempty" with:"create" doc:"name or id of the owner of a new file; an existing file keeps its own; default: the user that the play runs as"`
	Group  string `json:"group,omitempty" with:"create" doc:"name or id of its group; default: the group of the user that the play runs as"`
	Mode   string `json:"mode,omitempty" with:"create" numbers:"refuse" looks:"^(0[oO])?0?[0-7]{3}$" doc:"its permissions in octal, such as \"0644\", which is the default, or 0600 if it is sensitive"`
	// Validation has this name since Validate is a method of a resource.
	Validation string `json:"validate,omitempty" looks:"%s" doc:"command that checks the changed file, at the path %s, before it is put in place; any exit status except 0 refuses it; split as by exec, without a shell"`
	// Restore is set if the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`

	discreet bool // nothing of it may be seen
}

// The values of ensure.
const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "line",
		Doc: "Keeps one line, or a block of lines between two markers, in a file, or removes it. The rest " +
			"of the file, its owner, its mode and its line endings stay unchanged.",
		New: func() modules.Resource { return new(Line) },
	}
}

// file is the path of the file.
func (l *Line) file() string { return cmp.Or(l.Path, l.Name) }

// Inform implements [modules.Informed].
func (l *Line) Inform(c modules.Circumstances) { l.discreet = c.Sensitive }

// hasBlock reports whether the resource manages a block, and not a line.
func (l *Line) hasBlock() bool { return l.Block != "" || l.Marker != "" }

// edited is the file, with its edit.
func (l *Line) edited() *edit.File {
	return &edit.File{
		Path: l.file(), Edit: l.edit, Restore: l.Restore, Optional: l.Ensure == absent,
		Create: l.Create, Owner: l.Owner, Group: l.Group, Mode: l.Mode,
		Validation: l.Validation, Discreet: l.discreet,
	}
}

// place is the place of a new line or block.
func (l *Line) place() edit.Place { return edit.Place{After: l.After, Before: l.Before} }

// block is the block of the resource, if it has one.
func (l *Line) block() *edit.Block {
	begin, end := edit.Markers(l.Marker, l.Name)
	return &edit.Block{File: l.file(), Begin: begin, End: end, Text: l.Block, Place: l.place()}
}
