package pkg

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// dnf is the package manager of Fedora, RHEL and their relatives: dnf (4 or 5)
// over rpm. A yum that is another name of dnf will do.
type dnf struct{ rpmdb }

// offer implements [looker].
func (d dnf) offer(ctx context.Context, name, version string) (string, error) {
	rows, err := d.available(ctx, "--latest-limit=1", dnfSpec(item{name: name, version: version}))
	if err != nil {
		return "", err
	}
	base, _ := splitArch(name)
	rows = slices.DeleteFunc(rows, func(r rpmRow) bool { return r.name != base })
	if len(rows) > 0 {
		best, err := d.best(ctx, rows)
		return best.version, err
	}
	return d.nothing(ctx, name, version)
}

// nothing returns an error for a package that is not found, or "" for a virtual package.
func (d dnf) nothing(ctx context.Context, name, version string) (string, error) {
	rows, err := d.available(ctx, name)
	if err != nil {
		return "", err
	}
	if version != "" && len(rows) > 0 {
		return "", modules.Refuse("version %s of %q is not available; available: %s", version, name, words(some(ownVersions(rows, name))))
	}
	if rows, err = d.available(ctx, "--whatprovides", name); err != nil || len(rows) > 0 {
		return "", err
	}
	provider, err := d.provider(ctx, name)
	if err == nil && provider == "" {
		err = modules.Refuse("package %q is in no package list; is its repository set up and enabled?", name)
	}
	return "", err
}

// available lists the packages in the repositories.
func (d dnf) available(ctx context.Context, arguments ...string) ([]rpmRow, error) {
	var rows []rpmRow
	arguments = append([]string{"-q", "repoquery", "--available", "--qf", dnfFormat}, arguments...)
	exit, err := d.ask(ctx, arguments, func(argv []string) (exit modules.Exit, err error) {
		rows, exit, err = d.rows(ctx, d.offersKind(), argv...)
		return exit, err
	})
	if err == nil && exit.Code != 0 {
		err = failure(d.program+" repoquery", exit, nil)
	}
	return rows, err
}

// fresh implements [lister]: dnf gets the maximum age of its lists as an option, and fetches them by itself.
func (dnf) fresh(context.Context, time.Duration) (bool, error) { return true, nil }

// fetch implements [lister].
func (dnf) fetch(context.Context) error { return nil }

// argv begins a command line of dnf.
func (d dnf) argv(arguments ...string) []string {
	argv := []string{d.program}
	if d.program != "dnf5" { // dnf5 lacks this option, and waits
		argv = append(argv, "--setopt=exit_on_lock=True")
	}
	if d.limited {
		argv = append(argv, fmt.Sprintf("--setopt=metadata_expire=%d", int(math.Ceil(d.valid.Seconds()))))
	}
	return append(argv, arguments...)
}

// ask runs a query until dnf gets its locks. In a check run, dnf does not write to the logs and the database of the
// host. It reads the host's cache, and does not renew it. If a repository has no cache, or the answer depends on what
// repositories have now, dnf fetches into a cache of this program.
func (d dnf) ask(ctx context.Context, arguments []string, run func(argv []string) (modules.Exit, error)) (modules.Exit, error) {
	with := func(options ...string) (modules.Exit, error) {
		return d.unlocked(ctx, func() (modules.Exit, error) { return run(d.argv(append(options, arguments...)...)) })
	}
	if d.private == "" {
		return with()
	}
	apart := []string{"--setopt=logdir=" + d.private, "--setopt=persistdir=" + d.private}
	if !d.limited && !d.newest && d.hasCache() {
		exit, err := with(append(apart, "--cacheonly")...)
		if err != nil || !strings.Contains(exit.Stderr.Text, "no cache for") {
			return exit, err
		}
	}
	return with(append(apart, "--setopt=cachedir="+path.Join(d.private, "cache"))...)
}

// hasCache reports whether the host has cached a repository. Without any, even --cacheonly writes.
func (d dnf) hasCache() bool {
	dir := "/var/cache/dnf"
	if d.program == "dnf5" {
		dir = "/var/cache/libdnf5"
	}
	names, _ := d.now.List(dir)
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := d.now.Stat(path.Join(dir, name, "repodata"))
		return err == nil
	})
}

// rehearse implements [changer].
func (d dnf) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	var said dnfOutput
	options := []string{"--assumeno"}
	switch {
	case t.released && d.program == "dnf5":
		return nil, errHeld
	case t.released:
		options = append(options, "--disableplugin=versionlock")
	}
	simulate := func(reads modules.EffectKind, arguments []string) (modules.Exit, error) {
		return d.ask(ctx, append(options, arguments...), func(argv []string) (modules.Exit, error) {
			said = dnfOutput{}
			return d.query(ctx, reads, said.line, argv...)
		})
	}
	aborted := func(exit modules.Exit) bool {
		return exit.Code == 0 || strings.Contains(exit.Stderr.Text, "Operation aborted")
	}
	var exit modules.Exit
	var err error
	earlier := earlierOf(d.forecast)
	alone := len(earlier.arguments) == 0 && !earlier.unknown
	if alone || !earlier.unknown && t.verb == install {
		exit, err = simulate(d.offersKind(), append(dnfArguments(t), earlier.arguments...))
	}
	if err == nil && !alone && (exit.Code == 0 && len(said.done) == 0 || !aborted(exit)) { // earlier packages may exclude it
		exit, err = simulate("", dnfArguments(t))
	}
	switch {
	case err != nil:
		return nil, err
	case aborted(exit):
		return said.done, nil
	}
	return nil, modules.Refuse("%w", failure(d.program+" "+strings.Join(dnfArguments(t), " "), exit, nil))
}

// carryOut implements [changer].
func (d dnf) carryOut(ctx context.Context, t transaction) error {
	return d.change(ctx, string(t.verb), append([]string{"-y"}, dnfArguments(t)...)...)
}

// change runs a command of dnf that may change the host; errors call it by its name.
func (d dnf) change(ctx context.Context, name string, arguments ...string) error {
	var said dnfOutput
	command := modules.Command{
		Argv:   d.argv(arguments...),
		Env:    environment,
		OnLine: func(line string) { said.line(line) },
		Follow: true,
	}
	exit, err := d.unlocked(ctx, func() (modules.Exit, error) {
		said = dnfOutput{}
		return d.Run(ctx, command)
	})
	switch {
	case err != nil:
		return err
	case exit.Code != 0:
		return failure(d.program+" "+name, exit, said.reasons)
	}
	return nil
}

// dnfExitLocked is the exit status of dnf 4 when another process holds one of its locks.
const dnfExitLocked = 200

// unlocked runs dnf until it gets its locks.
func (d dnf) unlocked(ctx context.Context, run func() (modules.Exit, error)) (modules.Exit, error) {
	return d.untilUnlocked(ctx, run, func(exit modules.Exit) (string, bool) {
		return dnfHolder(exit.Stderr.Text), exit.Code == dnfExitLocked
	})
}

// dnfArguments are the arguments of dnf for a transaction.
func dnfArguments(t transaction) []string {
	arguments := []string{string(t.verb)}
	if t.verb == remove { // keep its dependencies
		arguments = []string{"--setopt=clean_requirements_on_remove=False", string(t.verb)}
	}
	for _, i := range t.items {
		arguments = append(arguments, dnfSpec(i))
	}
	return arguments
}

// dnfSpec names a package to dnf: name-epoch:version-release.arch, or its file.
func dnfSpec(i item) string {
	switch {
	case i.file != "":
		return i.file
	case i.version == "":
		return i.name
	}
	name, arch := splitArch(i.name)
	if arch != "" {
		arch = "." + arch
	}
	return name + "-" + i.version + arch
}

// dnfOutput collects the important parts of dnf's output.
type dnfOutput struct {
	done    []consequence
	reasons []string // errors of rpm
	section string   // section of the table: Installing, Installing dependencies, Removing, …
	row     []string // first columns of a row that continues in the next line
}

// line reads one line, such as one of the table of a transaction:
//
//	Installing:
//	 demo      noarch      2:1.0-1      updates      6.4 k
//	     replacing  demo-old.noarch 0.9-1
//
// A long name has the rest of its row in the next line. Other lines are not part of the table.
func (o *dnfOutput) line(line string) {
	if strings.HasPrefix(line, "error: ") && len(o.reasons) < maxReasons {
		o.reasons = append(o.reasons, line)
	}
	if !strings.HasPrefix(line, " ") {
		o.section, _ = strings.CutSuffix(line, ":")
		o.row = nil
		return
	}
	verb, _, _ := strings.Cut(o.section, " ")
	if verb != "Installing" && verb != "Upgrading" && verb != "Downgrading" && verb != "Removing" || len(o.done) == maxConsequences {
		return
	}
	const columns = 5 // name, architecture, version, repository, size and its unit
	fields := append(o.row, strings.Fields(line)...)
	o.row = nil
	switch {
	case len(fields) > 1 && fields[0] == "replacing": // dnf 5 also prints it for the previous version of the same package
		name, _ := splitArch(fields[1])
		if !slices.ContainsFunc(o.done, func(c consequence) bool { return c.name == name }) {
			o.done = append(o.done, consequence{name, ""})
		}
	case len(fields) < columns:
		o.row = fields
	case verb == "Removing":
		o.done = append(o.done, consequence{fields[0], ""})
	default:
		o.done = append(o.done, consequence{fields[0], fields[2]})
	}
}

var (
	dnfLocked = lazily(`(?m)already locked by (\d+)`)
	dnfWho    = lazily(`(?m)^ *The application with PID (\d+) is: (.*)$`)
)

// dnfHolder names the process with the lock that dnf could not get.
func dnfHolder(stderr string) string {
	if m := dnfWho().FindStringSubmatch(stderr); m != nil {
		return "process " + m[1] + " (" + m[2] + ")"
	}
	if m := dnfLocked().FindStringSubmatch(stderr); m != nil {
		return "process " + m[1]
	}
	return "another process"
}

// The files in which dnf records locked packages: with dnf 4, where locking is a plugin, and with dnf 5.
const (
	dnfLocks     = "/etc/dnf/plugins/versionlock.list"
	dnfLockSetup = "/etc/dnf/plugins/versionlock.conf"
	dnf5Locks    = "/etc/dnf/versionlock.toml"
)

// holds implements [holding].
func (d dnf) holds() []string {
	if d.program == "dnf5" {
		return []string{dnf5Locks}
	}
	return []string{dnfLocks, dnfLockSetup}
}

// held implements [holding].
func (d dnf) held(name string, _ State) (held bool, err error) {
	base, _ := splitArch(name)
	if d.program == "dnf5" {
		return d.locked(base)
	}
	switch _, err := d.files.Stat(dnfLockSetup); {
	case modules.NotThere(err):
		return false, modules.Refuse("dnf holds packages by its plugin versionlock, which is not there; install python3-dnf-plugin-versionlock")
	case err != nil:
		return false, err
	}
	err = d.eachLine(dnfLocks, func(line string) { held = held || dnfLockIsOf(line, base) })
	return held, err
}

// locked reports whether dnf5 keeps a package at one version. It reads the file of dnf5-versionlock(8): each entry has
// a pattern of names, and conditions for versions. A condition that only excludes or bounds versions is not a hold.
func (d dnf) locked(name string) (held bool, err error) {
	var pattern, key, comparator string
	err = d.eachLine(dnf5Locks, func(line string) {
		field, value, _ := strings.Cut(line, "=")
		switch strings.TrimSpace(field) {
		case "[[packages]]":
			pattern, key, comparator = "", "", ""
		case "[[packages.conditions]]":
			key, comparator = "", ""
		case "name":
			pattern = quotedText(value)
		case "key":
			key = quotedText(value)
		case "comparator":
			comparator = quotedText(value)
		}
		matches, _ := path.Match(pattern, name)
		held = held || matches && key == "evr" && comparator == "="
	})
	return held, err
}

// setHold implements [holding].
func (d dnf) setHold(ctx context.Context, names []string, on bool) error {
	verb := map[bool]string{true: "add", false: "delete"}[on]
	argv := d.argv(append([]string{"-q", "-y", "versionlock", verb}, names...)...)
	return d.locker(ctx, func(exit modules.Exit) (string, bool) {
		return dnfHolder(exit.Stderr.Text), exit.Code == dnfExitLocked
	}, argv...)
}

// versions implements [looker].
func (d dnf) versions(ctx context.Context, name string) ([]string, error) {
	rows, err := d.available(ctx, name)
	return ownVersions(rows, name), err
}

// offers implements [surveyor].
func (d dnf) offers(ctx context.Context, names []string, offers map[string]string) error {
	names = slices.DeleteFunc(names, func(name string) bool { return !plain(name) })
	if len(names) == 0 {
		return nil
	}
	rows, err := d.available(ctx, append([]string{"--latest-limit=1"}, names...)...)
	if err != nil {
		return err
	}
	byName := map[string][]rpmRow{}
	for _, r := range rows {
		byName[r.name] = append(byName[r.name], r)
	}
	for _, name := range names {
		if own := byName[name]; len(own) > 0 {
			best, err := d.best(ctx, own)
			if err != nil {
				return err
			}
			offers[name] = best.version
		}
	}
	return nil
}

// outlook implements [upgrader].
func (d dnf) outlook(ctx context.Context, u *Upgrader) (outlook, error) {
	var said dnfOutput
	arguments := d.upgradeArguments(u)
	exit, err := d.ask(ctx, append([]string{"--assumeno"}, arguments...), func(argv []string) (modules.Exit, error) {
		said = dnfOutput{}
		return d.query(ctx, "", said.line, argv...)
	})
	if err == nil && exit.Code != 0 && !strings.Contains(exit.Stderr.Text, "Operation aborted") {
		err = modules.Refuse("%w", failure(d.program+" "+strings.Join(arguments, " "), exit, nil))
	}
	return outlook{done: said.done}, err
}

// upgrade implements [upgrader].
func (d dnf) upgrade(ctx context.Context, u *Upgrader, _ outlook) error {
	return d.change(ctx, "upgrade", append([]string{"-y"}, d.upgradeArguments(u)...)...)
}

// upgradeArguments are the arguments of dnf for an upgrade. Security updates are the lowest versions that contain the
// fix.
func (d dnf) upgradeArguments(u *Upgrader) []string {
	var arguments []string
	if !u.Removals { // by a package that takes the place of another
		arguments = append(arguments, "--setopt=obsoletes=False")
	}
	switch {
	case !u.Security:
		return append(arguments, "upgrade")
	case d.program == "dnf5":
		return append(arguments, "upgrade", "--minimal", "--security")
	}
	return append(arguments, "upgrade-minimal", "--security")
}

// fetchOf implements [fetcher].
func (d dnf) fetchOf(ctx context.Context, dir, _ string) error {
	return d.change(ctx, "makecache", "-y", "--setopt=reposdir="+dir, "--setopt=*.skip_if_unavailable=False", "makecache")
}

// quotedText returns the text between the quotes at the start of a TOML value; a comment may follow.
func quotedText(value string) string {
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return ""
	}
	text, _, _ := strings.Cut(value[1:], value[:1])
	return text
}

// dnfLock is a line of dnf's list, name-epoch:version-release.arch; an exclamation mark excludes a version.
var dnfLock = lazily(`^(.+?)-\d+:[^:]+$`)

// dnfLockIsOf reports whether a line of dnf's list keeps the package at its version.
func dnfLockIsOf(line, name string) bool {
	if m := dnfLock().FindStringSubmatch(line); m != nil {
		return m[1] == name
	}
	return line == name
}
