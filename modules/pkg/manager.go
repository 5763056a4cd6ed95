package pkg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// manager is the package manager of a host.
type manager interface {
	looker
	judge
	changer
	holding
	filer
	lister
}

// looker asks about packages and changes nothing.
type looker interface {
	// installed says what the host has of a package.
	installed(ctx context.Context, name string) (State, error)
	// provider names an installed package that provides a virtual one; "" is none.
	provider(ctx context.Context, name string) (string, error)
	// offer gives the full version that would be installed, or the newest one if
	// version is "". It is "" for a virtual package.
	offer(ctx context.Context, name, version string) (string, error)
	// versions are all that are on offer of a package.
	versions(ctx context.Context, name string) ([]string, error)
}

// judge knows the order of versions.
type judge interface {
	// order compares two full versions: below 0 if the first is lower.
	order(ctx context.Context, a, b string) (int, error)
	// against compares a full version to one that was written, which may leave parts open.
	against(ctx context.Context, have, wanted string) (int, error)
}

// changer changes what is installed.
type changer interface {
	// database is a file that whoever changes packages must be able to replace; "" is not known.
	database() string
	// changes is what changes whenever packages do, and not when they are asked for.
	changes() modules.Sources
	// rehearse finds out why a transaction would be refused, and what it would do,
	// to other packages too. The error is errHeld if packages would be refused that are on hold
	// now, and nothing else can be found out.
	rehearse(ctx context.Context, t transaction) ([]consequence, error)
	carryOut(ctx context.Context, t transaction) error
	// release says how somebody lets a held package change.
	release(name string) string
}

// lister sees to the lists of available packages.
type lister interface {
	// fresh reports whether they are younger than that. It is always so for a
	// manager that fetches them by itself.
	fresh(ctx context.Context, within time.Duration) (bool, error)
	fetch(ctx context.Context) error
}

// surveyor is a manager that can be asked about many packages at once. Names that
// are missing from its answers have to be asked for singly.
type surveyor interface {
	// survey adds what the host has of packages.
	survey(ctx context.Context, names []string, states map[string]State) error
	// offers adds the newest version that is available of each.
	offers(ctx context.Context, names []string, offers map[string]string) error
}

// A verb is what a transaction does.
type verb string

const (
	install   verb = "install" // or upgrade
	downgrade verb = "downgrade"
	remove    verb = "remove"
)

// A transaction does the same to one or more packages.
type transaction struct {
	verb     verb
	items    []item
	released bool // some are on hold now, and will be taken off it before
}

// An item is a package and a full version; "" leaves that to the manager.
type item struct {
	name, version string
	pinned        bool   // the version is one that was asked for
	file          string // that holds it; "" is from a repository
	within        string // the range that is asked for, where nobody knows the version yet; "" is any
	again         bool   // it is installed again if this version is there; only apt has such packages
}

// has reports whether a package is one of those that shall be changed.
func (t transaction) has(name string) bool {
	return slices.ContainsFunc(t.items, func(i item) bool { return i.name == name })
}

// A consequence is what becomes of a package in a transaction.
type consequence struct {
	name    string
	version string // "" if it is removed
}

// maxConsequences bounds those that are kept of a transaction.
const maxConsequences = 10000

// A tool is a package manager by the programs that it needs.
type tool struct {
	provider string
	program  string // the one that is asked for
	needs    string // and one more
	make     func(a *access) manager
}

// access is what a manager works with.
type access struct {
	modules.Commands
	files    modules.FileReader
	program  string
	lockWait time.Duration
	limited  bool          // cache_valid is given; otherwise lists are fetched as the manager is configured
	valid    time.Duration // how old lists may be; 0: not at all
	forecast modules.Forecast
	// private is the folder for logs and caches of a query in a check run; "" means those of the host.
	private string
	// newest means that the answer depends on what repositories have now, and not on the cache.
	newest bool
}

// tools lists the package managers, the preferred one first.
var tools = []tool{
	{"apt", "apt-get", "dpkg-query", func(a *access) manager { return apt{a} }},
	{"dnf", "dnf5", "rpm", func(a *access) manager { return dnf{rpmdb{a}} }},
	{"dnf", "dnf", "rpm", func(a *access) manager { return dnf{rpmdb{a}} }},
	{"zypper", "zypper", "rpm", func(a *access) manager { return zypper{rpmdb{a}} }},
	{"dnf", "yum", "rpm", func(a *access) manager { return dnf{rpmdb{a}} }},
	{"apk", "apk", "apk", func(a *access) manager { return apk{a} }},
	{"pacman", "pacman", "pacman-conf", func(a *access) manager { return pacman{a} }},
}

// manager finds the package manager to use.
func (p *Package) manager(h modules.Host) (manager, error) {
	wait, err := parseDuration("lock_timeout", p.LockTimeout)
	valid, err2 := parseDuration("cache_valid", p.CacheValid)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if p.ofLanguage() {
		return p.languageManager(h)
	}
	t, err := toolOf(h, p.Provider)
	if err != nil {
		return nil, err
	}
	a := &access{Commands: h.Commands, files: h.Files, program: t.program, lockWait: wait, limited: p.CacheValid != "", valid: valid, forecast: h.Forecast, newest: p.Ensure == latest}
	if h.CheckRun && h.Private != "" {
		a.private = path.Join(h.Private, "packages")
	}
	return t.make(a), nil
}

// toolOf is the package manager that a host has, or the one that is given.
func toolOf(h modules.Host, provider string) (tool, error) {
	for _, t := range tools {
		if provider != "" && provider != t.provider {
			continue
		}
		found, err := has(h.Files, t.program, t.needs)
		if err != nil || found {
			return t, err
		}
	}
	return tool{}, modules.Refuse("%s in %s", missing[provider], modules.DefaultPath)
}

// missing says what a provider lacks.
var missing = map[string]string{
	"":       "no package manager is found: none of apt-get, dnf5, dnf, zypper, yum, apk and pacman is",
	"apt":    "provider apt needs apt-get and dpkg-query",
	"dnf":    "provider dnf needs rpm and one of dnf5, dnf and yum",
	"zypper": "provider zypper needs zypper and rpm",
	"apk":    "provider apk needs apk",
	"pacman": "provider pacman needs pacman and pacman-conf",
}

// has reports whether all of these programs are where programs are looked for.
func has(files modules.FileReader, programs ...string) (bool, error) {
	for _, program := range programs {
		found := false
		for _, dir := range filepath.SplitList(modules.DefaultPath) {
			_, err := modules.Follow(files, path.Join(dir, program))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return false, err
			}
			found = found || err == nil
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

// queryTimeout bounds a question to the package manager, which may be about to
// read large lists, or to fetch them (dnf).
const queryTimeout = 5 * time.Minute

// query runs a program that only looks, and passes on the lines it prints.
func (a *access) query(ctx context.Context, reads modules.EffectKind, onLine func(string), argv ...string) (modules.Exit, error) {
	if strings.HasPrefix(argv[0], "apt-") {
		argv = slices.Concat(argv[:1], aptQuiet, argv[1:])
	}
	exit, err := a.Probe(ctx, modules.Command{
		Argv:    argv,
		Env:     environment,
		Timeout: queryTimeout,
		Reads:   reads,
		OnLine:  onLine,
	})
	if err != nil {
		return exit, fmt.Errorf("querying packages: %w", err)
	}
	return exit, nil
}

// environment keeps package managers from asking questions (CCM's own list).
var environment = []string{
	"DEBIAN_FRONTEND=noninteractive",
	"APT_LISTBUGS_FRONTEND=none",
	"APT_LISTCHANGES_FRONTEND=none",
}

func quote(s string) string { return strconv.Quote(s) }

// words joins a list for an error.
func words(list []string) string { return strings.Join(list, ", ") }

// untilUnlocked runs a package manager that another process may have locked out, once
// a second, until it gets its locks or the time for that is up. lockedOut says
// whether that is why it has ended, and who holds the lock.
func (a *access) untilUnlocked(
	ctx context.Context,
	run func() (modules.Exit, error),
	lockedOut func(modules.Exit) (holder string, locked bool),
) (modules.Exit, error) {
	waiting, cancel := context.WithTimeout(ctx, a.lockWait)
	defer cancel()
	for {
		exit, err := run()
		if err != nil || exit.Code == 0 {
			return exit, err
		}
		holder, locked := lockedOut(exit)
		if !locked {
			return exit, nil
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return exit, context.Cause(ctx)
			}
			return exit, modules.Refuse("the package database is in use by %s, and was not free within %v", holder, a.lockWait)
		case <-time.After(time.Second):
		}
	}
}
