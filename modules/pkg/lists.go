package pkg

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// lists describes where a package manager stores the lists of its repositories.
type lists struct {
	dir string
	// like is the name pattern of a list for find -name: the folder may exist without a list.
	like string
	// sources name the repositories: files, and folders of files.
	sources []string
	// ignores reports whether a change of a file in such a folder changes no answer; nil: none.
	ignores func(files modules.FileReader, name string) bool
}

// younger reports whether lists exist that were fetched within that time, and after the latest change of the files that
// name the repositories. The time is rounded down to whole minutes, at least one. If the time is 0, it reports false.
func (a *access) younger(ctx context.Context, l lists, within time.Duration) (bool, error) {
	if within == 0 || a.sourcesChange(l) {
		return false, nil
	}
	minutes := max(1, int(within.Minutes()))
	young, err := a.finds(ctx, l.dir, "-maxdepth", "0", "-mmin", fmt.Sprintf("-%d", minutes))
	if err != nil || !young {
		return false, err
	}
	some, err := a.some(ctx, l)
	if err != nil || !some {
		return false, err
	}
	newer, err := a.finds(ctx, append(slices.Clone(l.sources), "-maxdepth", "1", "-newer", l.dir)...)
	return !newer, err
}

// some reports whether there are lists at all.
func (a *access) some(ctx context.Context, l lists) (bool, error) {
	return a.finds(ctx, l.dir, "-mindepth", "1", "-maxdepth", "1", "-name", l.like)
}

// finds reports whether find(1) finds something. A missing place to search is not an error.
func (a *access) finds(ctx context.Context, arguments ...string) (bool, error) {
	exit, err := a.query(ctx, a.offersKind(), nil, append([]string{"find", "-L"}, arguments...)...)
	return strings.TrimSpace(exit.Stdout.Text) != "", err
}

// sourcesChange reports whether earlier resources of a check run would change the files that name the repositories.
func (a *access) sourcesChange(l lists) bool {
	if a.forecast == nil {
		return false
	}
	for _, source := range l.sources {
		if _, ok := a.forecast.Lookup(modules.PathEffect, source); ok {
			return true
		}
		names, _ := a.now.List(source)
		for _, name := range names {
			name = path.Join(source, name)
			if l.ignores != nil && l.ignores(a.now, name) {
				continue
			}
			if _, ok := a.forecast.Lookup(modules.PathEffect, name); ok {
				return true
			}
		}
	}
	return false
}

// touch records that the lists have been fetched: package managers do not update the time of their folder if nothing is
// new.
func (a *access) touch(ctx context.Context, l lists) error {
	exit, err := a.Run(ctx, modules.Command{Argv: []string{"touch", "-c", l.dir}, Timeout: queryTimeout})
	if err == nil && exit.Code != 0 {
		err = failure("touch", exit, nil)
	}
	return err
}

// An unlisted error means that the lists lack a package, or a version of one. Newer lists may have it.
type unlisted struct{ error }

// Redacted implements [modules.Redactor].
func (u unlisted) Redacted() string { return u.Error() }

func (u unlisted) Unwrap() error { return u.error }

// lacks is an unlisted error.
func lacks(format string, args ...any) error { return unlisted{modules.Refuse(format, args...)} }

// isUnlisted reports whether newer lists may help against an error.
func isUnlisted(err error) bool {
	_, ok := errors.AsType[unlisted](err)
	return ok
}

// unknown returns the error for a package that the lists do not have at all, with a hint.
func (a *access) unknown(ctx context.Context, name string, l lists) error {
	old := a.age(ctx, l)
	some, err := a.some(ctx, l)
	switch {
	case err != nil:
		return err
	case !a.limited && !some:
		return lacks("package %q is in no package list: %s is empty; set cache_valid: 1h to fetch the lists", name, l.dir)
	case a.limited && old != "":
		return lacks("package %q is in no package list (fetched %s); check the name, and that one of its repositories is set up (%s)",
			name, old, strings.Join(l.sources, ", "))
	case a.limited:
		return lacks("package %q is in no package list; check the name, and that one of its repositories is set up (%s)", name, strings.Join(l.sources, ", "))
	case old != "":
		return lacks("package %q is in no package list (fetched %s); check the name, or set cache_valid: 1h to fetch new lists", name, old)
	}
	return lacks("package %q is in no package list; check the name, or set cache_valid: 1h to fetch new lists", name)
}

// age describes how long ago the lists were fetched, by the host's clock; "" if it is unknown.
func (a *access) age(ctx context.Context, l lists) string {
	fetched, ok := a.seconds(ctx, "-r", l.dir)
	now, ok2 := a.seconds(ctx)
	if !ok || !ok2 || fetched > now {
		return ""
	}
	return ago(time.Duration(now-fetched) * time.Second)
}

// seconds runs date(1) to get a time in seconds since 1970.
func (a *access) seconds(ctx context.Context, arguments ...string) (int64, bool) {
	exit, err := a.query(ctx, a.offersKind(), nil, append(append([]string{"date"}, arguments...), "+%s")...)
	if err != nil || exit.Code != 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(exit.Stdout.Text), 10, 64)
	return n, err == nil && n >= 0 && n < 1<<40
}

// ago puts an age into words, in the largest unit that it has two of.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}} {
		if d >= 2*unit.d {
			return fmt.Sprintf("%d %s ago", d/unit.d, unit.name)
		}
	}
	return fmt.Sprintf("%d seconds ago", d/time.Second)
}

// settingsOf are the settings of the managers whose packages can be looked into, by program.
var settingsOf = map[string]lists{"apt-get": aptSettings, "dnf": dnfSettings, "yum": dnfSettings}

// offersKind returns the kind of things that change the answers of the package manager about its lists: the offers of
// repositories if its settings stay, otherwise anything.
func (a *access) offersKind() modules.EffectKind {
	settings, ok := settingsOf[a.program]
	if !ok || a.forecast == nil {
		return ""
	}
	if a.offersReads == nil {
		reads := modules.OffersEffect
		if _, changes := a.forecast.Lookup(modules.OffersEffect, ""); changes || a.sourcesChange(settings) {
			reads = ""
		}
		a.offersReads = &reads
	}
	return *a.offersReads
}
