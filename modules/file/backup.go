package file

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// backupName is the name of a copy of the file. It is computed from the content, so a run that was killed before it
// changed the file does not cause a second copy. Its end makes sure that sudo, cron and similar programs do not read
// it.
func (f *File) backupName(files modules.FileReader) (string, error) {
	digest, err := files.Digest(f.Name)
	if err != nil {
		return "", err
	}
	written, err := files.ModTime(f.Name)
	if err != nil && !modules.NotThere(err) { // it may be there in a forecast only
		return "", err
	}
	return f.Name + "." + digest[:8] + written.UTC().Format(".2006-01-02@15:04:05~"), nil
}

// old describes the file that will be replaced, as it is copied; false if there is nothing to copy. The target of a
// link is not copied.
func (f *File) old(at found) (modules.Attributes, bool) {
	return modules.Attributes{Mode: at.Mode.Perm(), UID: at.UID, GID: at.GID}, f.Backup && at.Kind == modules.Regular && !at.link && !at.unknown
}

// mayKeepOld adds the copy to the plan.
func (f *File) mayKeepOld(files modules.Files, at found, plan modules.Plan) (modules.Plan, error) {
	old, ok := f.old(at)
	if !ok {
		return plan, nil
	}
	name, err := f.backupName(files)
	if err != nil {
		return modules.Plan{}, err
	}
	if _, err := files.Stat(name); !modules.NotThere(err) {
		return plan, err
	}
	copied := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true, Stays: true} // its name has a time
	plan.Effects = append(plan.Effects, effect(name, copied))
	return modules.PlanIfPermitted(plan, files.MayCreate(old))
}

// keepOld copies the file.
func (f *File) keepOld(ctx context.Context, h modules.Host) error {
	at, err := look(h.Files, f.Name)
	if err != nil {
		return err
	}
	if _, ok := f.old(at); !ok {
		return nil
	}
	name, err := f.backupName(h.Files)
	if err != nil {
		return err
	}
	if _, err := h.Files.Stat(name); !modules.NotThere(err) {
		return err
	}
	return h.Files.Copy(ctx, f.Name, name)
}
