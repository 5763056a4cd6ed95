package line

import (
	"context"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// maxSize is how large a file may be, before and after, in bytes.
const maxSize = 8 << 20

// steps is what Apply has to do: to write a file, unless the one that Check has
// seen has been changed.
type steps struct {
	seen string // SHA-256 of the file; "" if there was none
	want modules.Attributes
}

// Check implements [modules.Resource].
func (l *Line) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := l.check(ctx, h)
	return plan, modules.PermissionRefusal(err)
}

func (l *Line) check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	at, err := h.Files.Stat(l.file())
	link := at.Kind == modules.Symlink
	if link {
		at, err = modules.Follow(h.Files, l.file())
	}
	switch {
	case modules.NotThere(err):
		return l.checkMissing(ctx, h, link)
	case err != nil:
		return modules.Plan{}, err
	case at.Kind == modules.Directory:
		return modules.Plan{}, modules.Refuse("%s is a directory, not a file with lines", l.file())
	case at.Kind != modules.Regular:
		return modules.Plan{}, modules.Refuse("%s is a device, socket or pipe, not a file with lines", l.file())
	}
	have, err := l.read(h.Files, at)
	if err != nil {
		return modules.Plan{}, err
	}
	t := parse(have)
	done, err := l.edit(t)
	if err != nil || done.action == "" {
		return modules.Plan{}, err
	}
	if link {
		return modules.Plan{}, modules.Refuse("%s is a symlink; refusing to write through it (write the path that it leads to)", l.file())
	}
	seen := modules.TextContent(have).SHA256()
	// The own rename is the whole change, so that all but the permission bits of
	// the mode are lost with the old file.
	return l.plan(h, done, t, steps{seen, modules.Attributes{Mode: at.Mode.Perm(), UID: at.UID, GID: at.GID}})
}

// read gives a file whose lines can be told apart.
func (l *Line) read(files modules.FileReader, at modules.FileInfo) (string, error) {
	file, err := files.Open(l.file())
	if err != nil {
		return "", err
	}
	defer file.Close()
	if !modules.SameOwner(file, at) {
		return "", modules.Refuse("%s has just been exchanged by somebody else; run again", l.file())
	}
	b, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxSize:
		return "", tooLarge(l.file())
	case strings.IndexByte(string(b), 0) >= 0:
		return "", modules.Refuse("%s has a NUL byte, so it is no file with lines", l.file())
	}
	return string(b), nil
}

func tooLarge(file string) error {
	return modules.Refuse("%s is larger than the %d MiB that a file with lines may have", file, maxSize>>20)
}

func (l *Line) checkMissing(ctx context.Context, h modules.Host, link bool) (modules.Plan, error) {
	switch {
	case l.Ensure == absent:
		return modules.Plan{}, nil
	case link:
		return modules.Plan{}, modules.Refuse("%s is a symlink to nothing; refusing to make a file of it", l.file())
	case !l.Create:
		return modules.Plan{}, modules.Refuse("%s is not there (set 'create: true', or make it with a file resource)", l.file())
	}
	if err := modules.InDirectory(h.Files, l.file()); err != nil {
		return modules.Plan{}, err
	}
	want, err := modules.NewAttributes(0o644, l.discreet).Given(ctx, h.Accounts, l.Owner, l.Group, l.Mode)
	if err != nil {
		return modules.Plan{}, err
	}
	t := parse("")
	done, err := l.edit(t)
	if err != nil {
		return modules.Plan{}, err
	}
	done.action = "created the file"
	plan, err := l.plan(h, done, t, steps{want: want})
	const ownerMayRead = 0o400
	if err == nil && want.Mode&ownerMayRead == 0 { // only root can read the file again, to verify it
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return plan, err
}

// plan is the plan of writing the file with its new text.
func (l *Line) plan(h modules.Host, done edit, t *text, s steps) (modules.Plan, error) {
	content := modules.TextContent(t.String())
	if content.Size() > maxSize {
		return modules.Plan{}, tooLarge(l.file())
	}
	after := modules.FileInfo{Kind: modules.Regular, Size: content.Size(), Mode: s.want.Mode, UID: s.want.UID, GID: s.want.GID, Links: 1}
	plan := modules.Plan{
		Action:  done.action,
		Changes: done.changes,
		Effects: []modules.Effect{{Kind: modules.PathEffect, Key: l.file(), State: modules.PathState{FileInfo: after, Content: content}}},
		Texts:   []modules.TextChange{{Path: l.file(), Want: content}},
		Needs:   []modules.Content{content},
		Steps:   s,
	}
	plan, err := modules.PlanIfPermitted(plan, h.Files.MayReplace(l.file()), h.Files.MayCreate(s.want))
	if err != nil {
		return plan, err
	}
	return approval.Required(h.Files, l.file(), l.Validation, plan)
}
