package edit

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
	"github.com/ccm-push/ccm-push/modules/merged"
)

// maxSize is how large a file may be, before and after, in bytes.
const maxSize = 8 << 20

// A File is a file that a resource edits.
type File struct {
	Path string
	// Edit changes a text to the desired one. It must accept any text, and change nothing in its own result.
	Edit func(*Text) (Done, error)
	// Restore, if set, replaces all other edits: the earlier text is restored.
	Restore *Restore
	// Optional means that a missing file needs no change.
	Optional bool
	// Create makes a missing file, with these attributes; if they are empty, the file gets the user of the process, and
	// the mode 0644, or 0600 if Discreet.
	Create             bool
	Owner, Group, Mode string
	// Missing is the hint for a file that is missing and not created; empty means a hint about create.
	Missing string
	// Validation is a command that looks at the file before it gets its name; see package approval.
	Validation string
	Discreet   bool // nothing of it may be seen
}

// Done is the result of editing a text.
type Done struct {
	Action  string // "" if it was right
	Changes []modules.Change
	Remove  bool   // the text is empty, and the file is removed
	Warning string // also of a text that is right
}

// steps are the steps of Apply. They write a file, unless the file has changed since Check.
type steps struct {
	seen   string // SHA-256 of the file; empty if it did not exist
	want   modules.Attributes
	remove bool
}

// Check is the Check of a resource that edits the file.
func (f *File) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	if !f.Optional && f.Restore == nil {
		h.Warn(func(h modules.Host) string { return merged.Unread(h.Files, f.Path) })
	}
	plan, err := f.restoring().check(ctx, h)
	return plan, modules.PermissionRefusal(err)
}

func (f *File) check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	files := h.Files.Knowing(modules.KindOnly) // owner and mode stay
	at, err := files.Stat(f.Path)
	link := at.Kind == modules.Symlink
	if link {
		at, err = modules.Follow(files, f.Path)
	}
	switch {
	case modules.NotThere(err):
		return f.checkMissing(ctx, h, link)
	case err != nil:
		return modules.Plan{}, err
	}
	have, err := f.read(h.Files, at)
	if err != nil {
		return modules.Plan{}, err
	}
	t := Parse(have)
	done, err := f.Edit(t)
	if err == nil && done.Warning != "" {
		h.Report.Message(modules.LevelWarning, done.Warning)
	}
	if err != nil || done.Action == "" {
		return modules.Plan{}, err
	}
	if !done.Remove {
		done.Changes = append(done.Changes, MarkRemoved(have, t.String())...)
	}
	if link {
		return modules.Plan{}, modules.Refuse("the path %s is a symlink, and ccm-push does not write through a symlink (write the path of the target)", f.Path)
	}
	seen := modules.TextContent(have).SHA256()
	// The own rename is the whole change, so that all but the permission bits of
	// the mode are lost with the old file.
	return f.plan(ctx, h, done, t, steps{seen, modules.Attributes{Mode: at.Mode.Perm(), UID: at.UID, GID: at.GID}, done.Remove})
}

// read returns the text of a file. It refuses a file that is not text.
func (f *File) read(files modules.FileReader, at modules.FileInfo) (string, error) {
	switch at.Kind {
	case modules.Regular:
	case modules.Directory:
		return "", modules.Refuse("%s is a directory, not a file with lines", f.Path)
	default:
		return "", modules.Refuse("%s is a device, socket or pipe, not a file with lines", f.Path)
	}
	file, err := modules.OpenSeen(files, f.Path, at)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxSize:
		return "", tooLarge(f.Path)
	case strings.IndexByte(string(b), 0) >= 0:
		return "", modules.Refuse("%s has a NUL byte, so it is not a text file", f.Path)
	}
	return string(b), nil
}

// Read returns the text of the file, links followed, and its info. The kind of a missing file is [modules.Absent].
func (f *File) Read(files modules.FileReader) (string, modules.FileInfo, error) {
	at, err := modules.Follow(files, f.Path)
	switch {
	case modules.NotThere(err):
		return "", modules.FileInfo{Kind: modules.Absent}, nil
	case err != nil:
		return "", at, modules.PermissionRefusal(err)
	}
	text, err := f.read(files, at)
	return text, at, modules.PermissionRefusal(err)
}

func tooLarge(file string) error {
	return modules.Refuse("%s is larger than the %d MiB that a file with lines may have", file, maxSize>>20)
}

func (f *File) checkMissing(ctx context.Context, h modules.Host, link bool) (modules.Plan, error) {
	switch {
	case f.Optional:
		return modules.Plan{}, nil
	case link:
		return modules.Plan{}, modules.Refuse("%s is a symlink to nothing; refusing to make a file of it", f.Path)
	case !f.Create && f.Missing != "":
		return modules.Plan{}, modules.Refuse("%s is not there (%s)", f.Path, f.Missing)
	case !f.Create:
		return modules.Plan{}, modules.Refuse("%s is not there (set 'create: true', or make it with a file resource)", f.Path)
	}
	if err := modules.InDirectory(h.Files, f.Path); err != nil {
		return modules.Plan{}, err
	}
	want, err := modules.NewAttributes(0o644, f.Discreet).Given(ctx, h.Accounts, f.Owner, f.Group, f.Mode)
	if err != nil {
		return modules.Plan{}, err
	}
	t := Parse("")
	done, err := f.Edit(t)
	if err != nil {
		return modules.Plan{}, err
	}
	done.Action = "created the file"
	plan, err := f.plan(ctx, h, done, t, steps{want: want})
	const ownerMayRead = 0o400
	if err == nil && want.Mode&ownerMayRead == 0 { // only root can read the file again, to verify it
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return plan, err
}

// plan is the plan of writing the file with its new text.
func (f *File) plan(ctx context.Context, h modules.Host, done Done, t *Text, s steps) (modules.Plan, error) {
	content := modules.TextContent(t.String())
	if content.Size() > maxSize {
		return modules.Plan{}, tooLarge(f.Path)
	}
	after := modules.FileInfo{Kind: modules.Regular, Size: content.Size(), Mode: s.want.Mode, UID: s.want.UID, GID: s.want.GID, Links: 1}
	partial := false
	if before, ok := h.Forecast.Lookup(modules.PathEffect, f.Path); ok && s.seen != "" {
		partial = before.(modules.PathState).Partial
	}
	may := h.Files.MayCreate(s.want)
	needs := []modules.Content{content}
	if s.remove {
		after, content, may, needs = modules.FileInfo{Kind: modules.Absent}, modules.Content{}, nil, nil
	}
	plan, err := modules.PlanIfPermitted(modules.Plan{
		Action:  done.Action,
		Changes: done.Changes,
		Effects: []modules.Effect{{Kind: modules.PathEffect, Key: f.Path, State: modules.PathState{FileInfo: after, Content: content, Partial: partial}}},
		Texts:   []modules.TextChange{{Path: f.Path, Want: content}},
		Needs:   needs,
		Steps:   s,
	}, h.Files.MayReplace(f.Path), may)
	if err != nil || s.remove {
		return plan, err
	}
	return approval.Request{Name: f.Path, Command: f.Validation, Content: content, Want: s.want}.Required(ctx, h, plan)
}

// Apply is the Apply of a resource that edits the file.
func (f *File) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	s, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a file that is edited")
	}
	if err := f.unchanged(h.Files, s.seen); err != nil {
		return err
	}
	if s.remove {
		return h.Files.Remove(ctx, f.Path, false)
	}
	content, err := h.Contents.Open(ctx, p.Needs[0])
	if err != nil {
		return err
	}
	defer content.Close()
	return h.Files.WriteIf(ctx, f.Path, content, s.want, func(temp string) error {
		return approval.Ask(ctx, h, f.Validation, temp, f.Path)
	})
}

// unchanged returns an error if the file has changed since Check has read it, so that no other program's change is
// lost.
func (f *File) unchanged(files modules.FileReader, seen string) error {
	digest, err := files.Digest(f.Path)
	if err != nil && !modules.NotThere(err) {
		return err
	}
	if digest != seen {
		return modules.Refuse("%s has just been changed by another process; run again", f.Path)
	}
	return nil
}
