package brings

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/modules"
)

// A Runner runs a program that only looks. It returns at most so many bytes of output, and whether that is all of it.
// The error is for a program that did not run, or failed.
type Runner func(ctx context.Context, most int, argv ...string) (output string, all bool, err error)

const (
	maxControlTar = 4 << 20 // bytes
	maxDataTar    = 4 << 20
	beginPart     = 64 << 10 // bytes of a package that are fetched first for its files
)

// Look gets and reads the control data of packages, and the begin of their files as far as they are worth it. An error
// means that the control data of a package are not known.
func (f *Fetcher) Look(ctx context.Context, run Runner, packages []*Package) error {
	for _, p := range packages {
		if p.File.Size <= 0 {
			return errArchive
		}
	}
	parts, err := f.begins(packages, maxControls, func(p *Package) (part, error) { return f.control(ctx, p.File) })
	if err != nil {
		return err
	}
	for i, p := range packages {
		text, all, err := run(ctx, maxControlTar, "dpkg-deb", "--ctrl-tarfile", parts[i].path)
		if err == nil && !all {
			err = errTooMuch
		}
		if err == nil {
			p.control, err = ParseControl([]byte(text))
		}
		if err != nil {
			return err
		}
	}
	f.growAll(ctx, run, packages, parts)
	return nil
}

// begins gets the first part of each package, together at most so many bytes.
func (f *Fetcher) begins(packages []*Package, most int64, get func(*Package) (part, error)) ([]part, error) {
	if len(packages) > maxPackages {
		return nil, errTooMuch
	}
	f.allow(most)
	parts := make([]part, len(packages))
	var downloads errgroup.Group
	downloads.SetLimit(atOnce)
	for i, p := range packages {
		downloads.Go(func() (err error) {
			parts[i], err = get(p)
			return err
		})
	}
	return parts, downloads.Wait()
}

// growAll reads the first files of packages, if later resources may read them.
func (f *Fetcher) growAll(ctx context.Context, run Runner, packages []*Package, parts []part) {
	f.allow(maxData)
	order := make([]int, len(packages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // packages that a resource names come first
		return map[bool]int{true: 0, false: 1}[packages[a].Asked] - map[bool]int{true: 0, false: 1}[packages[b].Asked]
	})
	for _, i := range order {
		f.grow(ctx, run, packages[i], parts[i])
	}
}

// worth reports whether later resources may read what the package brings.
func (p *Package) worth() bool {
	return len(p.control.Conffiles) > 0 || slices.ContainsFunc(p.control.Files, ofInterest)
}

// ofInterest reports whether later resources, or predictions, may read the content of a file.
func ofInterest(name string) bool { return modules.Inside(name, "/etc") || isSetup(name) }

// isSetup reports whether a file below /usr sets up units or users.
func isSetup(name string) bool {
	dir := path.Dir(name)
	return strings.HasSuffix(dir, "lib/systemd/system") || strings.HasSuffix(dir, "/systemd/system-preset") || dir == "/usr/lib/sysusers.d"
}

// settled reports whether nothing more of the package is worth to be fetched.
func (p *Package) settled() bool {
	if p.rpm {
		return !slices.ContainsFunc(p.entries, func(e Entry) bool {
			return e.Kind == modules.Regular && !e.Hard && e.Data == nil && ofInterest(e.Path)
		})
	}
	return p.whole || p.etc && !slices.ContainsFunc(p.control.Files, func(name string) bool {
		_, known := p.text(name)
		return !known && isSetup(name)
	})
}

// grow reads the first files of a package, and fetches more of it until enough are known. Files that it
// does not get stay unknown.
func (f *Fetcher) grow(ctx context.Context, run Runner, p *Package, have part) {
	if have.have < p.File.Size && !p.worth() {
		return
	}
	want, most := p.start+beginPart, p.start+maxHead
	if p.File.Size <= smallWhole {
		want = p.File.Size
	}
	for {
		if have.have < min(want, p.File.Size) {
			more, err := f.get(ctx, p.File, want)
			if err != nil {
				return
			}
			have = more
		}
		if err := p.list(ctx, run, have); err != nil || p.settled() || have.have >= min(most, p.File.Size) {
			return
		}
		want = min(2*want, most)
	}
}

// list reads the first files of a package from the begin of its file.
func (p *Package) list(ctx context.Context, run Runner, have part) error {
	if p.rpm {
		return p.fill(ctx, run, have)
	}
	whole := have.have >= p.File.Size
	text, all, err := run(ctx, maxDataTar, "dpkg-deb", "--fsys-tarfile", have.path)
	if err != nil && (whole || text == "") {
		return errors.Join(err, errArchive)
	}
	if !all {
		text = text[:maxDataTar/8*3] // before the middle, which was dropped
	}
	entries, ended, err := ReadTar([]byte(text))
	if err != nil {
		return err
	}
	p.entries = slices.Clip(entries)
	p.whole = whole && all && ended
	p.etc = p.whole || passed(entries, "etc")
	return nil
}

// passed reports whether members come in the order of the folders in / and the given one is over. dpkg-deb writes links
// after all others.
func passed(entries []Entry, folder string) bool {
	last := ""
	for _, e := range entries {
		if e.Kind == modules.Symlink {
			break
		}
		top, _, _ := strings.Cut(e.Path[1:], "/")
		if top < last {
			return false
		}
		last = top
	}
	return last > folder
}
