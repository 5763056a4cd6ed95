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

// looker queries packages and changes nothing.
type looker interface {
	// installed returns the state of a package on the host.
	installed(ctx context.Context, name string) (State, error)
	// provider names an installed package that provides a virtual one; "" means none.
	provider(ctx context.Context, name string) (string, error)
	// offer returns the full version that would be installed, or the newest one if version is empty. It returns "" for
	// a virtual package.
	offer(ctx context.Context, name, version string) (string, error)
	// versions returns all available versions of a package.
	versions(ctx context.Context, name string) ([]string, error)
}

// judge knows the order of versions.
type judge interface {
	// order compares two full versions: below 0 if the first is lower.
	order(ctx context.Context, a, b string) (int, error)
	// against compares a full version to a version in a manifest, which may omit parts.
	against(ctx context.Context, have, wanted string) (int, error)
}

// changer changes installed packages.
type changer interface {
	// database is a file that a user must be able to replace to change packages; empty if unknown.
	database() string
	// changes are the sources that change whenever packages do, and not when they are queried.
	changes() modules.Sources
	// rehearse finds out why a transaction would be refused, and which changes it would make, also of other packages.
	// The error is errHeld if packages would be refused that are on hold now, and nothing else can be found out.
	rehearse(ctx context.Context, t transaction) ([]consequence, error)
	carryOut(ctx context.Context, t transaction) error
	// release describes how a person takes a package off hold.
	release(name string) string
}

// lister sees to the lists of available packages.
type lister interface {
	// fresh reports whether the lists are younger than the given age. It is always true for a manager that fetches the
	// lists itself.
	fresh(ctx context.Context, within time.Duration) (bool, error)
	fetch(ctx context.Context) error
}

// surveyor is a manager that can query many packages at once. Names that are missing from its answers need a query
// each.
type surveyor interface {
	// survey adds the states of packages on the host.
	survey(ctx context.Context, names []string, states map[string]State) error
	// offers adds the newest version that is available of each.
	offers(ctx context.Context, names []string, offers map[string]string) error
}

// A verb is the kind of a transaction.
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

// An item is a package and a full version; if that is empty, the manager chooses it.
type item struct {
	name, version string
	pinned        bool   // the manifest names the version
	file          string // package file; empty means from a repository
	within        string // range in ensure, if the version is unknown yet; empty means any
	again         bool   // install it again if this version is installed; only apt has such packages
}

// has reports whether the transaction changes a package by name.
func (t transaction) has(name string) bool {
	return slices.ContainsFunc(t.items, func(i item) bool { return i.name == name })
}

// A consequence is the change of one package by a transaction.
type consequence struct {
	name    string
	version string // "" if it is removed
}

// maxConsequences bounds the consequences of a transaction that are kept.
const maxConsequences = 10000

// A tool is a package manager by the programs that it needs.
type tool struct {
	provider string
	program  string // main program, which is run for queries
	needs    string // and one more
	make     func(a *access) manager
}

// access is the environment of a manager: programs, files, locks and limits.
type access struct {
	modules.Commands
	files    modules.FileReader
	program  string
	lockWait time.Duration
	limited  bool          // cache_valid is set; otherwise lists are fetched as the manager is configured
	valid    time.Duration // how old lists may be; 0: not at all
	forecast modules.Forecast
	// private is the folder for logs and caches of a query in a check run; empty means the host's own.
	private string
	// newest means that the answer depends on the current content of repositories, and not on the cache.
	newest bool

	now         modules.FileReader  // files of which a check run has no doubts, such as caches
	offersReads *modules.EffectKind // result of offersKind
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
		return p.place().manager(h, wanted(p.Ensure).within())
	}
	t, err := toolOf(h, p.Provider)
	if err != nil {
		return nil, err
	}
	a := &access{Commands: h.Commands, files: h.Files, program: t.program, lockWait: wait, limited: p.CacheValid != "", valid: valid, forecast: h.Forecast, newest: p.Ensure == latest}
	a.now = h.Uncounted().Files
	if h.CheckRun && h.Private != "" {
		a.private = path.Join(h.Private, "packages")
	}
	return t.make(a), nil
}

// toolOf returns the package manager of a host, or the given one.
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

// missing is the error message for a missing provider.
var missing = map[string]string{
	"":       "no package manager is found: none of apt-get, dnf5, dnf, zypper, yum, apk and pacman is",
	"apt":    "provider apt needs apt-get and dpkg-query",
	"dnf":    "provider dnf needs rpm and one of dnf5, dnf and yum",
	"zypper": "provider zypper needs zypper and rpm",
	"apk":    "provider apk needs apk",
	"pacman": "provider pacman needs pacman and pacman-conf",
}

// has reports whether all of these programs are in the search path.
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

// environment disables the prompts of package managers (CCM's own list).
var environment = []string{
	"DEBIAN_FRONTEND=noninteractive",
	"APT_LISTBUGS_FRONTEND=none",
	"APT_LISTCHANGES_FRONTEND=none",
}

func quote(s string) string { return strconv.Quote(s) }

// words joins a list for an error.
func words(list []string) string { return strings.Join(list, ", ") }

// untilUnlocked runs a package manager, once a second, until it gets its locks or the lock timeout has passed.
// lockedOut reports whether it has ended because of a lock, and which process holds the lock.
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
