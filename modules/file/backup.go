package file

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// backupName is the name of a copy of the file. It is computed from the content, so a run that was killed before it
// changed the file does not cause a second copy. Its end makes sure that sudo, cron and similar programs do not read
// it.
func (c *comparison) backupName() (string, error) {
	digest, err := c.h.Files.Digest(c.Name)
	if err != nil {
		return "", err
	}
	written, err := c.h.Files.ModTime(c.Name)
	if err != nil && !modules.NotThere(err) { // it may be there in a forecast only
		return "", err
	}
	return c.Name + "." + digest[:8] + written.UTC().Format(".2006-01-02@15:04:05~"), nil
}

// backup returns the name of the copy to make of the file that will be replaced, and its attributes. The name is empty if
// there is nothing to copy, or the copy exists. The target of a link is not copied.
func (c *comparison) backup() (name string, old modules.Attributes, err error) {
	if !c.Backup || c.at.Kind != modules.Regular || c.at.link || c.at.unknown {
		return "", old, nil
	}
	if name, err = c.backupName(); err != nil {
		return "", old, err
	}
	if _, err := c.h.Files.Stat(name); !modules.NotThere(err) {
		return "", old, err
	}
	return name, modules.Attributes{Mode: c.at.Mode.Perm(), UID: c.at.UID, GID: c.at.GID}, nil
}

// mayKeepOld adds the copy to the plan.
func (c *comparison) mayKeepOld(plan modules.Plan) (modules.Plan, error) {
	name, old, err := c.backup()
	if err != nil || name == "" {
		return plan, err
	}
	copied := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true, Stays: true} // its name has a time
	plan.Effects = append(plan.Effects, effect(name, copied))
	return modules.PlanIfPermitted(plan, c.h.Files.MayCreate(old))
}

// keepOld copies the file.
func (f *File) keepOld(ctx context.Context, h modules.Host) error {
	at, err := look(h.Files, f.Name)
	if err != nil {
		return err
	}
	name, _, err := (&comparison{File: f, h: h, at: at}).backup()
	if err != nil || name == "" {
		return err
	}
	return h.Files.Copy(ctx, f.Name, name)
}
