package pkg

import (
	"context"
	"maps"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (p *Package) Subject() string { return "package " + p.place().key(p.Name) }

// Lasts implements [modules.Lasting].
func (p *Package) Lasts() string { return "packages are neither downgraded nor removed" }

// Reversal implements [modules.Reverser]: the package, at its version. Dependencies that were installed or removed with
// it are up to the package manager. The version may no longer be available.
func (p *Package) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	before, _ := kept.(*Package)
	if kept != nil && (p.Hold == nil || before != nil && before.Hold != nil) {
		return nil, nil
	}
	m, err := p.manager(h)
	if err != nil {
		return nil, err
	}
	i := &installation{Package: p, host: h, by: m}
	err = i.observe(ctx)
	have := i.have
	properties := map[string]any{"ensure": absent, "lock_timeout": p.LockTimeout}
	maps.Copy(properties, p.place().properties())
	switch {
	case err != nil:
		return nil, err
	case have.Unfinished != "":
		return nil, modules.Refuse("package %s is %s, which nothing brings back", p.Name, have.Unfinished)
	case have.Installed && have.Version == "":
		return nil, modules.Refuse("it cannot be known which version of package %s is there", p.Name)
	case have.Installed:
		properties["ensure"] = have.Version
	}
	if before != nil { // which does not contain the hold
		properties["ensure"] = before.Ensure
	}
	if p.Hold != nil {
		properties["hold"] = have.Held && properties["ensure"] != absent
	}
	return properties, nil
}
