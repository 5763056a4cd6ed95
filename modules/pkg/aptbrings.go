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

// A bringer is a manager that can read packages before their installation.
type bringer interface {
	// brought returns the pending packages, and the installed packages that have triggers. An error is the reason why the
	// effects are unknown.
	brought(ctx context.Context, p pending) ([]*brings.Package, []brings.Header, error)
	// spec names a package of one version to the manager.
	spec(i item) string
}

// bringerOf returns the bringer for a manager, or nil.
func bringerOf(m manager) bringer {
	switch m := m.(type) {
	case apt:
		return aptBringer{m}
	case dnf:
		return dnfBringer{m}
	}
	return nil
}

// pending is a transaction that a check run predicts.
type pending struct {
	by   bringer
	host modules.Host
	transaction
	comes, gone []consequence      // changes of packages, without changes that earlier plans predict
	reads       modules.EffectKind // kind of things that change the answers of the manager about its lists
}

var errRemoves = errors.New("packages are removed, or files are not from a repository")

// packageTime bounds a program that reads a package file.
const packageTime = 20 * time.Second

// pendingOf returns the transaction with the changes of packages.
func pendingOf(by bringer, h modules.Host, t transaction, done []consequence, reads modules.EffectKind) pending {
	p := pending{by: by, host: h, transaction: t, reads: reads}
	for _, c := range done {
		state, planned := h.Forecast.Lookup(Effect, (place{}).key(c.name))
		switch is, _ := state.(State); {
		case planned && is.Installed == (c.version != "") && is.Version == c.version:
		case c.version == "":
			p.gone = append(p.gone, c)
		default:
			p.comes = append(p.comes, c)
		}
	}
	return p
}

// effects returns the effects of the transaction on the host, except on packages. The error is the reason why they are not
// known.
func (p pending) effects(ctx context.Context) ([]modules.Effect, error) {
	if p.host.Private == "" || p.verb == remove || slices.ContainsFunc(p.items, func(i item) bool { return i.file != "" || i.again }) {
		return nil, errRemoves
	}
	packages, installed, err := p.by.brought(ctx, p)
	if err != nil {
		return nil, err
	}
	return brings.Effects(p.host.Uncounted(), packages, installed)
}

// looks is a [brings.Runner].
func (p pending) looks(ctx context.Context, most int, argv ...string) (string, bool, error) {
	exit, err := p.host.Commands.Probe(ctx, modules.Command{Argv: argv, Env: environment, Timeout: packageTime, MaxOutput: most, Reads: p.reads})
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
	next.unknown = next.unknown || err != nil || p.verb != install
	next.arguments = slices.Clone(next.arguments)
	for _, i := range p.items {
		next.arguments = append(next.arguments, p.by.spec(i))
	}
	plan.Effects = append(plan.Effects, modules.Effect{Kind: earlierEffect, State: next})
	return plan
}

// earlierEffect is the kind of the packages that earlier plans of a check run install: State is an [earlier].
const earlierEffect modules.EffectKind = "package.earlier"

// earlier are packages that earlier plans install, as arguments of the package manager: a simulation that has them does not
// depend on these plans, unless one of them may change other packages.
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

var errNotListed = errors.New("a package is not in the list of files")

// aptBringer is the [bringer] of apt.
type aptBringer struct{ apt apt }

// brought implements [bringer].
func (a aptBringer) brought(ctx context.Context, p pending) ([]*brings.Package, []brings.Header, error) {
	if p.verb != install || len(p.gone) > 0 {
		return nil, nil, errRemoves
	}
	packages, err := a.files(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if err := a.notFresh(ctx, packages); err != nil {
		return nil, nil, err
	}
	f, err := a.fetcher(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	return packages, nil, f.Look(ctx, p.looks, packages)
}

// spec implements [bringer].
func (aptBringer) spec(i item) string {
	if i.version != "" {
		return i.name + "=" + i.version
	}
	return i.name
}

// files returns the package files of these packages. Without its own folder of package files, apt lists all of them.
func (a aptBringer) files(ctx context.Context, p pending) ([]*brings.Package, error) {
	var packages []*brings.Package
	var odd error
	names := map[string]bool{}
	for _, c := range p.comes {
		base, _, _ := strings.Cut(c.name, ":")
		names[base] = true
	}
	arguments := append([]string{"apt-get", "--print-uris", "-qq", "-y", "-o", "Acquire::ForceHash=SHA256", "-o", "Dir::Cache::archives=/proc/none/"}, aptArguments(p.transaction)...)
	exit, err := a.apt.query(ctx, a.apt.offersKind(), func(line string) {
		file, err := brings.ParseURI(line)
		name, _, _ := strings.Cut(file.Name, "_")
		switch {
		case err != nil:
			odd = err
		case names[name] && len(packages) <= len(names):
			packages = append(packages, &brings.Package{Name: name, File: file, Fresh: true, Asked: p.has(name)})
		}
	}, append(arguments, earlierOf(a.apt.forecast).arguments...)...)
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
func (a aptBringer) notFresh(ctx context.Context, packages []*brings.Package) error {
	argv := []string{"dpkg-query", "-W", "-f", dpkgFormat, "--"}
	byName := map[string]*brings.Package{}
	for _, is := range packages {
		argv = append(argv, is.Name)
		byName[is.Name] = is
	}
	if len(packages) == 0 {
		return nil
	}
	exit, err := a.apt.query(ctx, a.apt.offersKind(), func(line string) {
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
func (a aptBringer) fetcher(ctx context.Context, p pending) (*brings.Fetcher, error) {
	settings := brings.Settings{}
	exit, err := a.apt.query(ctx, a.apt.offersKind(), settings.Add, "apt-config", "dump")
	if err == nil && exit.Code != 0 {
		err = failure("apt-config", exit, nil)
	}
	if err != nil {
		return nil, err
	}
	cache, err := brings.OpenParts(p.host.Private)
	if err != nil {
		return nil, err
	}
	return &brings.Fetcher{
		Proxy:    settings.Proxy,
		Archives: settings.Dir("Dir::Cache::archives"),
		Password: func(host string) bool { return a.password(settings, host) },
		Cache:    cache,
	}, nil
}

// maxAuth bounds a file with passwords, in bytes.
const maxAuth = 64 << 10

// password reports whether apt has a password for a host.
func (a aptBringer) password(settings brings.Settings, host string) bool {
	files := []string{settings.Dir("Dir::Etc::netrc")}
	parts := settings.Dir("Dir::Etc::netrcparts")
	names, err := a.apt.files.List(parts)
	if err != nil && !modules.NotThere(err) {
		return true
	}
	for _, name := range names {
		files = append(files, path.Join(parts, name))
	}
	for _, name := range files {
		text, err := process.ReadText(a.apt.files, name, maxAuth)
		if err != nil && !modules.NotThere(err) || brings.NeedsPassword(text, host) {
			return true
		}
	}
	return false
}

// aptSettings are the files that change what apt chooses, and folders of such files.
var aptSettings = lists{sources: []string{
	"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/preferences", "/etc/apt/preferences.d", "/etc/apt/apt.conf", "/etc/apt/apt.conf.d",
}, ignores: onlyPeriodic}

// periodicFiles are settings of packages of Debian for unattended upgrades and hooks.
var periodicFiles = []string{"01autoremove", "20auto-upgrades", "20listchanges", "20packagekit", "50appstream", "50unattended-upgrades", "70debconf", "99needrestart"}

// onlyPeriodic reports whether a file of settings concerns only unattended upgrades and hooks, and not what apt chooses. It
// recognizes a file with unknown content by its name.
func onlyPeriodic(files modules.FileReader, name string) bool {
	if path.Dir(name) != "/etc/apt/apt.conf.d" {
		return false
	}
	text, err := process.ReadText(files, name, maxAuth)
	if err != nil { // a script of a pending package creates it
		return slices.Contains(periodicFiles, path.Base(name))
	}
	depth, only := 0, true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		comment := line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#")
		if !comment && depth == 0 {
			only = only && (strings.HasPrefix(line, "APT::Periodic::") || strings.HasPrefix(line, "Unattended-Upgrade::"))
		}
		if !comment {
			depth += strings.Count(line, "{") - strings.Count(line, "}")
		}
	}
	return only
}
