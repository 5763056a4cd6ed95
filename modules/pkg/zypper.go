package pkg

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// zypper is the package manager of SUSE, over rpm.
type zypper struct{ rpmdb }

// offer implements [looker].
func (z zypper) offer(ctx context.Context, name, version string) (string, error) {
	base, arch := splitArch(name)
	if version == "" && arch == "" {
		offers := map[string]string{}
		err := z.offers(ctx, []string{name}, offers)
		if err != nil || offers[name] != "" {
			return offers[name], err
		}
	}
	rows, err := z.search(ctx, "-s", base)
	if err != nil {
		return "", err
	}
	rows = slices.DeleteFunc(rows, func(r rpmRow) bool { return r.name != base || arch != "" && r.arch != arch })
	if len(rows) == 0 {
		return z.nothing(ctx, name)
	}
	wanted := slices.DeleteFunc(slices.Clone(rows), func(r rpmRow) bool {
		if version == "" {
			return false
		}
		order, _ := z.against(ctx, r.version, version)
		return order != 0
	})
	if len(wanted) == 0 {
		return "", lacks("version %s of %q is not available; available: %s", version, name, words(some(ownVersions(rows, name))))
	}
	best, err := z.best(ctx, wanted)
	return best.version, err
}

// nothing returns an error for a package that is not found, or "" for a virtual package.
func (z zypper) nothing(ctx context.Context, name string) (string, error) {
	rows, err := z.search(ctx, "--provides", name)
	if err != nil || len(rows) > 0 {
		return "", err
	}
	provider, err := z.provider(ctx, name)
	if err == nil && provider == "" {
		err = lacks("package %q is in no package list; is its repository set up and enabled?", name)
	}
	return "", err
}

// offers implements [surveyor]. zypper reports its own choices, which also depend on vendors and on priorities of
// repositories.
func (z zypper) offers(ctx context.Context, names []string, offers map[string]string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !plain(name) })
	if len(names) == 0 {
		return nil
	}
	said := &zypperOutput{info: zypperInfo{versions: offers}}
	return z.ask(ctx, said, append([]string{"info", "-t", "package", "--"}, names...)...)
}

// search lists the packages in the repositories with exactly that name.
func (z zypper) search(ctx context.Context, what, name string) ([]rpmRow, error) {
	said := &zypperOutput{}
	err := z.ask(ctx, said, "search", what, "--match-exact", "-t", "package", "--", name)
	return said.rows, err
}

// ask runs a query of zypper. An empty result is not an error.
func (z zypper) ask(ctx context.Context, said *zypperOutput, command ...string) error {
	exit, err := z.run(ctx, z.probe, said, command...)
	if err == nil && !zypperFine(exit.Code) && exit.Code != zypperExitNotFound {
		err = failure("zypper "+command[0], exit, said.reasons)
	}
	return err
}

// The exit statuses of zypper except 0 (zypper(8)).
const (
	zypperExitLocked   = 7
	zypperExitNotFound = 104
)

// zypperFine reports whether zypper was successful: 100 to 103 mean that another action is needed now, and 106 that a
// repository was skipped.
func zypperFine(code int) bool { return code == 0 || code >= 100 && code <= 103 || code == 106 }

// probe runs a command that only looks.
func (z zypper) probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	c.Timeout = queryTimeout
	return z.Probe(ctx, c)
}

// run runs a command of zypper until it gets its lock.
func (z zypper) run(
	ctx context.Context,
	start func(context.Context, modules.Command) (modules.Exit, error),
	said *zypperOutput,
	command ...string,
) (modules.Exit, error) {
	c := modules.Command{Argv: []string{"zypper", "--non-interactive"}, Env: environment, OnLine: said.line}
	if command[0] != "info" { // whose XML is no more than text
		c.Argv = append(c.Argv, "--xmlout")
	}
	if z.limited && command[0] != "refresh" { // the lists are fetched by ourselves
		c.Argv = append(c.Argv, "--no-refresh")
	}
	c.Argv = append(c.Argv, command...)
	return z.untilUnlocked(ctx, func() (modules.Exit, error) {
		*said = zypperOutput{info: said.info}
		return start(ctx, c)
	}, func(exit modules.Exit) (string, bool) {
		return zypperHolder(strings.Join(said.reasons, " ") + exit.Stderr.Text), exit.Code == zypperExitLocked
	})
}

var zypperLists = lists{"/var/cache/zypp/raw", "*", []string{"/etc/zypp/repos.d"}, nil}

// fresh implements [lister].
func (z zypper) fresh(ctx context.Context, within time.Duration) (bool, error) {
	return z.younger(ctx, zypperLists, within)
}

// fetch implements [lister].
func (z zypper) fetch(ctx context.Context) error {
	if err := z.change(ctx, "refresh"); err != nil {
		return err
	}
	return z.touch(ctx, zypperLists)
}

// rehearse implements [changer].
func (z zypper) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	if t.released {
		return nil, errHeld
	}
	said := &zypperOutput{}
	exit, err := z.run(ctx, z.probe, said, zypperArguments(t, "--dry-run")...)
	if err == nil && !zypperFine(exit.Code) {
		err = modules.Refuse("%w", failure("zypper "+strings.Join(zypperArguments(t), " "), exit, said.reasons))
	}
	return said.done, err
}

// carryOut implements [changer].
func (z zypper) carryOut(ctx context.Context, t transaction) error {
	return z.change(ctx, zypperArguments(t)...)
}

// change runs a command of zypper that may change the host.
func (z zypper) change(ctx context.Context, command ...string) error {
	said := &zypperOutput{}
	exit, err := z.run(ctx, z.Run, said, command...)
	if err == nil && !zypperFine(exit.Code) {
		err = failure("zypper "+command[0], exit, said.reasons)
	}
	return err
}

// zypperArguments are the arguments of zypper for a transaction.
func zypperArguments(t transaction, options ...string) []string {
	arguments := []string{string(install), "--auto-agree-with-licenses"}
	switch t.verb {
	case remove: // keep its dependencies
		arguments = []string{string(remove), "--no-clean-deps"}
	case downgrade:
		arguments = append(arguments, "--oldpackage")
	}
	if t.verb != remove && slices.ContainsFunc(t.items, func(i item) bool { return i.file != "" }) {
		arguments = append(arguments, "--allow-unsigned-rpm") // the named files only
	}
	arguments = append(append(arguments, options...), "--")
	for _, i := range t.items {
		if i.version != "" {
			i.name += "=" + i.version
		}
		arguments = append(arguments, cmp.Or(i.file, i.name))
	}
	return arguments
}

// holds implements [holding].
func (zypper) holds() []string { return []string{zypperHolds} }

// held implements [holding].
func (z zypper) held(name string, _ State) (held bool, err error) {
	err = z.eachLine(zypperHolds, func(line string) {
		if pattern, ok := strings.CutPrefix(line, "solvable_name:"); ok {
			matches, _ := path.Match(strings.TrimSpace(pattern), name)
			held = held || matches
		}
	})
	return held, err
}

// setHold implements [holding].
func (z zypper) setHold(ctx context.Context, names []string, on bool) error {
	verb := map[bool]string{true: "addlock", false: "removelock"}[on]
	return z.change(ctx, append([]string{verb, "-t", "package", "--"}, names...)...)
}

// versions implements [looker].
func (z zypper) versions(ctx context.Context, name string) ([]string, error) {
	base, _ := splitArch(name)
	rows, err := z.search(ctx, "-s", base)
	return ownVersions(rows, name), err
}

// outlook implements [upgrader].
func (z zypper) outlook(ctx context.Context, u *Upgrader) (outlook, error) {
	said := &zypperOutput{}
	exit, err := z.run(ctx, z.probe, said, zypperUpgrade(u, "--dry-run")...)
	if err == nil && !zypperFine(exit.Code) {
		err = modules.Refuse("%w", failure("zypper "+strings.Join(zypperUpgrade(u), " "), exit, said.reasons))
	}
	return outlook{done: said.done}, err
}

// upgrade implements [upgrader]. zypper first updates itself and the packages that it needs, and must then be run
// again.
func (z zypper) upgrade(ctx context.Context, u *Upgrader, _ outlook) error {
	const most = 5
	for range most {
		said := &zypperOutput{}
		exit, err := z.run(ctx, z.Run, said, zypperUpgrade(u)...)
		switch {
		case err != nil:
			return err
		case !zypperFine(exit.Code):
			return failure("zypper "+zypperUpgrade(u)[0], exit, said.reasons)
		case exit.Code != zypperExitAgain:
			return nil
		}
	}
	return modules.Refuse("zypper requested a restart of itself %d times", most)
}

func zypperUpgrade(u *Upgrader, options ...string) []string {
	if u.Security {
		return append([]string{"patch", "--category", "security", "--auto-agree-with-licenses"}, options...)
	}
	return append([]string{"update", "--auto-agree-with-licenses"}, options...)
}

// fetchOf implements [fetcher]. zypper takes a key from nowhere but the database of rpm without a question.
func (z zypper) fetchOf(ctx context.Context, dir, key string) error {
	if key != "" {
		exit, err := z.Run(ctx, modules.Command{Argv: []string{"rpm", "--import", key}, Timeout: queryTimeout})
		if err == nil && exit.Code != 0 {
			err = failure("rpm --import", exit, nil)
		}
		if err != nil {
			return err
		}
	}
	said := &zypperOutput{}
	exit, err := z.run(ctx, z.Run, said, "--reposd-dir", dir, "refresh")
	if err == nil && !zypperFine(exit.Code) {
		err = failure("zypper refresh", exit, said.reasons)
	}
	return err
}

// zypperHolds is the file with zypper's locks: paragraphs with a pattern each.
const zypperHolds = "/etc/zypp/locks"

// zypperExitAgain is the exit status of zypper after it has updated itself.
const zypperExitAgain = 103
