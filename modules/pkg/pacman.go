package pkg

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// pacman is the package manager of Arch Linux and its relatives. A repository of
// it has one version of a package; others can be in the cache of packages that were
// installed before.
type pacman struct{ *access }

func (pacman) database() string { return "/var/lib/pacman/db.lck" }

// changes implements [changer]. Each package has a folder of its own; while any of them changes, a lock file exists.
func (p pacman) changes() modules.Sources {
	return p.told("/var/lib/pacman/db.lck", "/etc/pacman.conf")
}

// order implements [judge].
func (pacman) order(_ context.Context, one, other string) (int, error) {
	return compareAlpm(one, other), nil
}

// against implements [judge]. If wanted has no release, any release matches.
func (pacman) against(_ context.Context, have, wanted string) (int, error) {
	return compareAlpm(have, wanted), nil
}

// release implements [changer].
func (pacman) release(string) string {
	return "take it out of IgnorePkg in /etc/pacman.conf"
}

// installed implements [looker].
func (p pacman) installed(ctx context.Context, name string) (State, error) {
	states := map[string]State{}
	err := p.survey(ctx, []string{name}, states)
	return states[name], err
}

// survey implements [surveyor].
func (p pacman) survey(ctx context.Context, names []string, states map[string]State) error {
	for _, name := range names {
		states[name] = State{}
	}
	exit, err := p.query(ctx, Effect, func(line string) {
		name, version, ok := strings.Cut(line, " ") // for a virtual name, pacman prints the package that provides it
		if _, asked := states[name]; ok && asked {
			states[name] = State{Installed: true, Version: version}
		}
	}, append([]string{"pacman", "-Q", "--"}, names...)...)
	switch {
	case err != nil:
		return err
	case exit.Code > 1: // 1: some are not there
		return failure("pacman -Q", exit, nil)
	case !slices.ContainsFunc(names, func(name string) bool { return states[name].Installed }):
		return nil
	}
	ignored, err := p.configured(ctx, Effect, "IgnorePkg")
	for _, pattern := range ignored {
		for name, s := range states {
			held, _ := path.Match(pattern, name)
			s.Held = s.Installed && (s.Held || held)
			states[name] = s
		}
	}
	return err
}

// configured returns the values of an option of pacman.conf(5).
func (p pacman) configured(ctx context.Context, reads modules.EffectKind, option string) ([]string, error) {
	exit, err := p.query(ctx, reads, nil, "pacman-conf", option)
	if err == nil && exit.Code != 0 {
		err = failure("pacman-conf "+option, exit, nil)
	}
	return strings.Fields(exit.Stdout.Text), err
}

// provider implements [looker].
func (p pacman) provider(ctx context.Context, name string) (string, error) {
	exit, err := p.query(ctx, Effect, nil, "pacman", "-Q", "--", name)
	if err != nil || exit.Code != 0 {
		return "", err
	}
	provider, _, _ := strings.Cut(exit.Stdout.Text, " ")
	return provider, nil
}

// offer implements [looker].
func (p pacman) offer(ctx context.Context, name, version string) (string, error) {
	found, err := p.sources(ctx, name)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 || version == "" && found[0].file != "":
		return p.nothing(ctx, name, version)
	case version == "":
		return found[0].version, nil // the first repository has precedence, as in pacman
	}
	if s, ok := pick(found, version); ok {
		return s.version, nil
	}
	return "", lacks("version %s of %q is not available; available: %s", version, name, words(some(versionsFrom(found))))
}

// nothing returns an error for a package that is not found, or "" for a virtual package.
func (p pacman) nothing(ctx context.Context, name, version string) (string, error) {
	exit, err := p.query(ctx, "", nil, "pacman", "-Sg", "--", name)
	switch {
	case err != nil:
		return "", err
	case exit.Code == 0 && exit.Stdout.Text != "":
		return "", modules.Refuse("%q is a group of packages; name the packages of it that are wanted", name)
	}
	exit, err = p.query(ctx, "", nil, "pacman", "-S", "--print", "--print-format", "%n", "--noconfirm", "--", name)
	if err != nil || exit.Code == 0 {
		return "", err
	}
	provider, err := p.provider(ctx, name)
	if err == nil && provider == "" {
		err = p.unknown(ctx, name, pacmanLists)
	}
	return "", err
}

// A source is a place from which a version of a package can be installed: a repository, or a file in the cache.
type source struct{ version, repository, file string }

// target is the source as an argument of pacman.
func (s source) target(name string) string {
	if s.file != "" {
		return s.file
	}
	return s.repository + "/" + name
}

// pick finds a source of a version, a repository if there is one.
func pick(sources []source, version string) (source, bool) {
	i := slices.IndexFunc(sources, func(s source) bool { return compareAlpm(s.version, version) == 0 })
	if i < 0 {
		return source{}, false
	}
	return sources[i], true
}

// sources lists the sources of a package, repositories first, in their order.
func (p pacman) sources(ctx context.Context, name string) ([]source, error) {
	info, err := p.synced(ctx, name)
	if err != nil {
		return nil, err
	}
	found := info.sources(name)
	dirs, err := p.configured(ctx, "", "CacheDir")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		dir = path.Clean(dir)
		files, err := p.files.List(dir)
		if modules.NotThere(err) || !path.IsAbs(dir) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if version, ok := cachedVersion(file, name); ok && len(found) < maxVersions {
				found = append(found, source{version: version, file: path.Join(dir, file)})
			}
		}
	}
	return found, nil
}

// offers implements [surveyor].
func (p pacman) offers(ctx context.Context, names []string, offers map[string]string) error {
	info, err := p.synced(ctx, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if found := info.sources(name); len(found) > 0 {
			offers[name] = found[0].version
		}
	}
	return nil
}

// synced reads which versions of packages the repositories have.
func (p pacman) synced(ctx context.Context, names ...string) (*pacmanInfo, error) {
	info := &pacmanInfo{}
	exit, err := p.query(ctx, "", info.line, append([]string{"pacman", "-Si", "--"}, names...)...)
	if err == nil && exit.Code > 1 { // 1: some are not there
		err = failure("pacman -Si", exit, nil)
	}
	return info, err
}

var pacmanLists = lists{"/var/lib/pacman/sync", "*.db", []string{"/etc/pacman.conf", "/etc/pacman.d"}, nil}

// fresh implements [lister].
func (p pacman) fresh(ctx context.Context, within time.Duration) (bool, error) {
	return p.younger(ctx, pacmanLists, within)
}

// fetch implements [lister].
func (p pacman) fetch(ctx context.Context) error {
	if err := p.change(ctx, "-Sy"); err != nil {
		return err
	}
	return p.touch(ctx, pacmanLists)
}

// rehearse implements [changer]. pacman cannot report in advance which packages conflict with others.
func (p pacman) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	calls, err := p.calls(ctx, t)
	if err != nil {
		return nil, err
	}
	var done []consequence
	for _, call := range calls {
		argv := append([]string{"pacman", "--noconfirm", "--print", "--print-format", "%n\t%v"}, call...)
		exit, err := p.query(ctx, "", func(line string) {
			if c, ok := pacmanConsequence(line, t.verb); ok && len(done) < maxConsequences {
				done = append(done, c)
			}
		}, argv...)
		switch {
		case err != nil:
			return nil, err
		case exit.Code != 0:
			return nil, modules.Refuse("%w", pacmanFailure(call, exit))
		}
	}
	return done, nil
}

// carryOut implements [changer].
func (p pacman) carryOut(ctx context.Context, t transaction) error {
	calls, err := p.calls(ctx, t)
	for _, call := range calls {
		if err == nil {
			err = p.change(ctx, call...)
		}
	}
	return err
}

// calls returns the arguments of the calls of pacman that a transaction needs: files need another call than packages
// from a repository.
func (p pacman) calls(ctx context.Context, t transaction) ([][]string, error) {
	var synced, files []string
	if t.verb == remove {
		removed := []string{"-R", "--"}
		for _, i := range t.items {
			removed = append(removed, i.name)
		}
		return [][]string{removed}, nil
	}
	for _, i := range t.items {
		switch {
		case i.file != "":
			files = append(files, i.file)
			continue
		case i.version == "": // a virtual package
			synced = append(synced, i.name)
			continue
		}
		found, err := p.sources(ctx, i.name)
		if err != nil {
			return nil, err
		}
		s, ok := pick(found, i.version)
		switch {
		case !ok:
			return nil, modules.Refuse("version %s of %q is not available any more", i.version, i.name)
		case s.file != "":
			files = append(files, s.target(i.name))
		default:
			synced = append(synced, s.target(i.name))
		}
	}
	var calls [][]string
	if len(files) > 0 {
		calls = append(calls, append([]string{"-U", "--"}, files...))
	}
	if len(synced) > 0 {
		calls = append(calls, append([]string{"-S", "--"}, synced...))
	}
	return calls, nil
}

// change runs pacman until it gets its lock.
func (p pacman) change(ctx context.Context, arguments ...string) error {
	command := modules.Command{
		Argv: append([]string{"pacman", "--noconfirm", "--noprogressbar", "--color", "never"}, arguments...),
		Env:  environment, Follow: true,
	}
	exit, err := p.untilUnlocked(ctx, func() (modules.Exit, error) { return p.Run(ctx, command) }, func(exit modules.Exit) (string, bool) {
		return "another process (if none is running, remove the stale lock: rm /var/lib/pacman/db.lck)",
			strings.Contains(exit.Stderr.Text, "unable to lock database") && strings.Contains(exit.Stderr.Text, "File exists") ||
				strings.Contains(exit.Stderr.Text, "failed to synchronize all databases (unable to lock database)")
	})
	if err == nil && exit.Code != 0 {
		err = pacmanFailure(arguments, exit)
	}
	return err
}

// pacmanFailure is why pacman has failed. Part of that is on its standard output,
// in lines that begin with two colons.
func pacmanFailure(arguments []string, exit modules.Exit) error {
	var reasons []string
	for line := range strings.Lines(exit.Stdout.Text) {
		if reason, ok := strings.CutPrefix(line, ":: "); ok && !strings.Contains(reason, "[") && !strings.HasSuffix(strings.TrimSpace(reason), "...") {
			reasons = append(reasons, strings.TrimSpace(reason))
		}
	}
	return failure("pacman "+arguments[0], exit, reasons)
}

// held implements [holding].
func (pacman) held(string, State) (bool, error) {
	return false, modules.Refuse("pacman holds the packages of IgnorePkg in /etc/pacman.conf; set IgnorePkg with an ini resource")
}

func (pacman) holds() []string { return nil }

func (pacman) setHold(context.Context, []string, bool) error { return errors.ErrUnsupported }

func (pacman) suffix() string { return ".pkg.tar" }

// inFile implements [filer].
func (p pacman) inFile(ctx context.Context, file string) (name, version string, err error) {
	exit, err := p.query(ctx, "", func(line string) { name, version, _ = strings.Cut(line, " ") }, "pacman", "-Qp", "--", file)
	return told("pacman -Qp", name, version, exit, err)
}

// versions implements [looker].
func (p pacman) versions(ctx context.Context, name string) ([]string, error) {
	found, err := p.sources(ctx, name)
	return versionsFrom(found), err
}

// versionsFrom are the different versions that sources have.
func versionsFrom(found []source) (all []string) {
	for _, s := range found {
		if !slices.Contains(all, s.version) {
			all = append(all, s.version)
		}
	}
	return all
}

// outlook implements [upgrader].
func (p pacman) outlook(ctx context.Context, u *Upgrader) (o outlook, err error) {
	if u.Security {
		return o, noAdvisories("pacman")
	}
	exit, err := p.query(ctx, "", func(line string) {
		if c, ok := pacmanConsequence(line, install); ok && len(o.done) < maxConsequences {
			o.done = append(o.done, c)
		}
	}, "pacman", "--noconfirm", "--print", "--print-format", "%n\t%v", "-Su")
	if err == nil && exit.Code != 0 {
		err = modules.Refuse("%w", pacmanFailure([]string{"-Su"}, exit))
	}
	return o, err
}

// upgrade implements [upgrader].
func (p pacman) upgrade(ctx context.Context, _ *Upgrader, _ outlook) error {
	return p.change(ctx, "-Su")
}
