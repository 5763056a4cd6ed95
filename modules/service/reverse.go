package service

import (
	"context"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (s *Service) Subject() string { return "service " + unitName(s.Name) }

// Reversal implements [modules.Reverser]: whether the service runs, and the current state of enable and masked if the
// resource sets them.
func (s *Service) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	k, _ := kept.(*Service)
	if k != nil && (s.Enable == nil || k.Enable != nil || is(k.Masked, true)) && (s.Masked == nil || k.Masked != nil) {
		return nil, nil
	}
	f, err := s.find(ctx, h)
	if err != nil {
		return nil, err
	}
	u := f.u
	if err := f.reversible(); err != nil {
		return nil, err
	}
	properties := map[string]any{"timeout": s.Timeout}
	if s.Provider != "" {
		properties["provider"] = s.Provider
	}
	switch {
	case u.runs():
		properties["ensure"] = running
	case u.stopped(), u.state == crashed:
		properties["ensure"] = stopped
	default:
		return nil, modules.Refuse("service %s is %s, neither running nor stopped", u.id, u.state)
	}
	if s.Enable != nil {
		properties["enable"] = u.enabled()
	}
	if s.Masked != nil {
		properties["masked"] = u.masked()
		if u.masked() {
			delete(properties, "enable") // the state below a mask cannot be seen
		}
	}
	if k != nil { // properties that it lacks were not managed until now
		properties["ensure"] = k.Ensure
		if k.Enable != nil {
			properties["enable"] = *k.Enable
		}
		if k.Masked != nil {
			properties["masked"] = *k.Masked
		}
	}
	return properties, nil
}

// reversible refuses a unit that systemd would not find again afterwards.
func (f *found) reversible() error {
	var at modules.FileInfo
	var err error = fs.ErrNotExist
	if f.u.file != "" {
		at, err = f.h.Files.Stat(f.u.file)
	}
	switch {
	case err != nil && !modules.NotThere(err):
		return err
	case err != nil && f.u.runs():
		return modules.Refuse("service %s runs without a unit file, and could not be started again", f.u.id)
	case f.Enable != nil && f.u.fileState == "enabled-runtime":
		return untilBoot(f.u, "enabled", "enable")
	case f.Masked != nil && f.u.fileState == "masked-runtime":
		return untilBoot(f.u, "masked", "mask")
	case at.Kind == modules.Symlink && !f.u.masked() && f.Enable != nil && *f.Enable != f.u.enabled():
		return modules.Refuse("the path %s is a link to the unit file, and systemctl removes the link when it disables the service; write a link resource for this path", f.u.file)
	}
	return nil
}

// untilBoot refuses to undo the change of a unit that is enabled or masked until the next boot.
func untilBoot(u unit, state, verb string) error {
	return modules.Refuse("service %s is %s only until the next boot, and no property restores that; run on the host: systemctl %s --runtime %[1]s", u.id, state, verb)
}
