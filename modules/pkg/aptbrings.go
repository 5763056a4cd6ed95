package pkg

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
	"github.com/ccm-push/ccm-push/modules/process"
)

// pending is a transaction of apt that a check run predicts.
type pending struct {
	apt
	host modules.Host
	transaction
	done []consequence // the changes of packages
}

var (
	errRemoves   = errors.New("packages are removed, or files are not from a repository")
	errNotListed = errors.New("a package is not in the list of files")
)

// packageTime bounds a program that reads a package file.
const packageTime = 20 * time.Second

// effects returns the effects of the transaction on the host, except on packages. The error is the reason why they are not
// known.
func (p pending) effects(ctx context.Context) ([]modules.Effect, error) {
	if p.private == "" || p.verb != install || slices.ContainsFunc(p.items, func(i item) bool { return i.file != "" || i.again }) {
		return nil, errRemoves
	}
	names := map[string]bool{}
	for _, c := range p.done {
		if c.version == "" {
			return nil, errRemoves
		}
		state, planned := p.host.Forecast.Lookup(Effect, (place{}).key(c.name))
		if is, _ := state.(State); !planned || !is.Installed || is.Version != c.version {
			base, _, _ := strings.Cut(c.name, ":")
			names[base] = true
		}
	}
	packages, err := p.files(ctx, names)
	if err != nil {
		return nil, err
	}
	if err := p.notFresh(ctx, packages); err != nil {
		return nil, err
	}
	f, err := p.fetcher(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.Look(ctx, p.looks, packages); err != nil {
		return nil, err
	}
	return brings.Effects(p.host.Uncounted(), packages)
}

// files returns the package files of these packages. Without its own folder of package files, apt lists all of them.
func (p pending) files(ctx context.Context, names map[string]bool) ([]*brings.Package, error) {
	var packages []*brings.Package
	var odd error
	arguments := append([]string{"apt-get", "--print-uris", "-qq", "-y", "-o", "Acquire::ForceHash=SHA256", "-o", "Dir::Cache::archives=/proc/none/"}, aptArguments(p.transaction)...)
	exit, err := p.query(ctx, p.offersKind(), func(line string) {
		file, err := brings.ParseURI(line)
		name, _, _ := strings.Cut(file.Name, "_")
		switch {
		case err != nil:
			odd = err
		case names[name] && len(packages) <= len(names):
			packages = append(packages, &brings.Package{Name: name, File: file, Fresh: true, Asked: p.has(name)})
		}
	}, append(arguments, earlierOf(p.host.Forecast).arguments...)...)
	switch {
	case err != nil:
		return nil, err
	case exit.Code != 0:
		return nil, failure("apt-get --print-uris", exit, nil)
	case odd != nil:
		return nil, odd
	case len(packages) != len(names):
		return nil, errNotListed
	}
	return packages, nil
}

// notFresh notes which packages are on the host, be it in part.
func (p pending) notFresh(ctx context.Context, packages []*brings.Package) error {
	argv := []string{"dpkg-query", "-W", "-f", dpkgFormat, "--"}
	byName := map[string]*brings.Package{}
	for _, is := range packages {
		argv = append(argv, is.Name)
		byName[is.Name] = is
	}
	if len(packages) == 0 {
		return nil
	}
	exit, err := p.query(ctx, p.offersKind(), func(line string) {
		row := parseDpkgRow(line)
		name, _, _ := strings.Cut(row.name, ":")
		if is := byName[name]; is != nil && row.status != "not-installed" {
			is.Fresh = false
		}
	}, argv...)
	if err == nil && exit.Code > 1 { // 1: some are unknown
		err = failure("dpkg-query", exit, nil)
	}
	return err
}

// fetcher gets package files as apt is set up to do.
func (p pending) fetcher(ctx context.Context) (*brings.Fetcher, error) {
	settings := brings.Settings{}
	exit, err := p.query(ctx, p.offersKind(), settings.Add, "apt-config", "dump")
	if err == nil && exit.Code != 0 {
		err = failure("apt-config", exit, nil)
	}
	if err != nil {
		return nil, err
	}
	cache, err := brings.OpenCache(p.host.Private, "packages", "parts")
	if err != nil {
		return nil, err
	}
	return &brings.Fetcher{
		Settings: settings,
		Archives: settings.Dir("Dir::Cache::archives"),
		Password: func(host string) bool { return p.password(settings, host) },
		Cache:    cache,
	}, nil
}

// maxAuth bounds a file with passwords, in bytes.
const maxAuth = 64 << 10

// password reports whether apt has a password for a host.
func (p pending) password(settings brings.Settings, host string) bool {
	files := []string{settings.Dir("Dir::Etc::netrc")}
	parts := settings.Dir("Dir::Etc::netrcparts")
	names, err := p.host.Files.List(parts)
	if err != nil && !modules.NotThere(err) {
		return true
	}
	for _, name := range names {
		files = append(files, path.Join(parts, name))
	}
	for _, name := range files {
		text, err := process.ReadText(p.host.Files, name, maxAuth)
		if err != nil && !modules.NotThere(err) || brings.NeedsPassword(text, host) {
			return true
		}
	}
	return false
}

// looks is a [brings.Runner].
func (p pending) looks(ctx context.Context, most int, argv ...string) (string, bool, error) {
	exit, err := p.Probe(ctx, modules.Command{Argv: argv, Env: environment, Timeout: packageTime, MaxOutput: most, Reads: p.offersKind()})
	if err == nil && exit.Code != 0 {
		err = failure(argv[0], exit, nil)
	}
	return exit.Stdout.Text, exit.Stdout.Dropped == 0, err
}

// foreseen replaces the effect [modules.Anything] of a plan by the effects of its packages, if these are known.
func (p pending) foreseen(ctx context.Context, plan modules.Plan) modules.Plan {
	effects, err := p.effects(ctx)
	if err != nil {
		p.host.Report.Message(modules.LevelDebug, "the effects of the packages are not known: "+err.Error())
	} else {
		plan.Effects = slices.DeleteFunc(plan.Effects, func(e modules.Effect) bool { return e.Kind == modules.AnyEffect })
		plan.Effects = append(plan.Effects, effects...)
	}
	next := earlierOf(p.host.Forecast)
	next.unknown = next.unknown || err != nil
	next.arguments = slices.Clone(next.arguments)
	for _, i := range p.items {
		if i.version != "" {
			i.name += "=" + i.version
		}
		next.arguments = append(next.arguments, i.name)
	}
	plan.Effects = append(plan.Effects, modules.Effect{Kind: earlierEffect, State: next})
	return plan
}

// earlierEffect is the kind of the packages that earlier plans of a check run install: State is an [earlier].
const earlierEffect modules.EffectKind = "package.earlier"

// earlier are packages that earlier plans install, as arguments of apt-get: a simulation that has them does not depend on
// these plans, unless one of them may change other packages.
type earlier struct {
	arguments []string
	unknown   bool
}

func earlierOf(f modules.Forecast) earlier {
	if f == nil {
		return earlier{}
	}
	state, _ := f.Lookup(earlierEffect, "")
	e, _ := state.(earlier)
	return e
}

// aptSettings are the files that change what apt chooses, and folders of such files.
var aptSettings = lists{sources: []string{
	"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/preferences", "/etc/apt/preferences.d", "/etc/apt/apt.conf", "/etc/apt/apt.conf.d",
}}

// offersKind returns the kind of things that change the answers of the package manager about its lists: the offers of
// repositories if its settings stay, otherwise anything.
func (a *access) offersKind() modules.EffectKind {
	if a.program != "apt-get" || a.forecast == nil {
		return ""
	}
	if a.offersReads == nil {
		reads := modules.OffersEffect
		if _, changes := a.forecast.Lookup(modules.OffersEffect, ""); changes || a.sourcesChange(aptSettings) {
			reads = ""
		}
		a.offersReads = &reads
	}
	return *a.offersReads
}
