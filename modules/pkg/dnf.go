package pkg

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// dnf is the package manager of Fedora, RHEL and their relatives: dnf (4 or 5)
// over rpm. A yum that is another name of dnf will do.
type dnf struct{ access }

func (dnf) database() string { return "/var/lib/rpm" }

// installed implements [looker].
func (d dnf) installed(ctx context.Context, name string) (State, error) {
	rows, exit, err := d.rows(ctx, Effect, "rpm", "-q", "--qf", rpmFormat, name)
	switch {
	case err != nil:
		return State{}, err
	case exit.Code > 1: // 1: there is no such package
		return State{}, failure("rpm -q", exit, nil)
	case len(rows) == 0:
		return State{}, nil
	}
	best, err := d.best(ctx, rows)
	return State{Installed: true, Version: best.version}, err
}

// provider implements [looker].
func (d dnf) provider(ctx context.Context, name string) (string, error) {
	rows, _, err := d.rows(ctx, Effect, "rpm", "-q", "--qf", rpmFormat, "--whatprovides", name)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].name, nil
}

// offer implements [looker].
func (d dnf) offer(ctx context.Context, name, version string) (string, error) {
	rows, err := d.available(ctx, "--latest-limit=1", dnfSpec(item{name, version}))
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

// nothing finds out why there is no such package: it is "" for a virtual one.
func (d dnf) nothing(ctx context.Context, name, version string) (string, error) {
	rows, err := d.available(ctx, name)
	if err != nil {
		return "", err
	}
	if version != "" && len(rows) > 0 {
		return "", modules.Refuse("version %s of %q is not available; available: %s", version, name, words(versionsOf(rows)))
	}
	if rows, err = d.available(ctx, "--whatprovides", name); err != nil || len(rows) > 0 {
		return "", err
	}
	provider, err := d.provider(ctx, name)
	if err == nil && provider == "" {
		err = modules.Refuse("package %q is not known here; is its repository set up and enabled?", name)
	}
	return "", err
}

// available lists what the repositories have.
func (d dnf) available(ctx context.Context, arguments ...string) ([]rpmRow, error) {
	argv := append(d.argv("-q", "repoquery", "--available", "--qf", dnfFormat), arguments...)
	var rows []rpmRow
	exit, err := d.unlocked(ctx, func() (modules.Exit, error) {
		var exit modules.Exit
		var err error
		rows, exit, err = d.rows(ctx, "", argv...)
		return exit, err
	})
	if err == nil && exit.Code != 0 {
		err = failure(d.program+" repoquery", exit, nil)
	}
	return rows, err
}

// rows runs a query and reads the lines it prints in [rpmFormat] or [dnfFormat].
func (d dnf) rows(ctx context.Context, reads modules.EffectKind, argv ...string) ([]rpmRow, modules.Exit, error) {
	var rows []rpmRow
	exit, err := d.query(ctx, reads, func(line string) {
		if row, ok := parseRPMRow(line); ok && len(rows) < maxVersions {
			rows = append(rows, row)
		}
	}, argv...)
	return rows, exit, err
}

// best picks the row that a name without architecture means, the newest of them.
func (d dnf) best(ctx context.Context, rows []rpmRow) (rpmRow, error) {
	best := rows[0]
	if len(rows) == 1 {
		return best, nil
	}
	exit, err := d.query(ctx, Effect, nil, "uname", "-m")
	if err != nil {
		return best, err
	}
	machine := strings.TrimSpace(exit.Stdout.Text)
	own := slices.DeleteFunc(slices.Clone(rows), func(r rpmRow) bool { return r.arch != machine && r.arch != "noarch" })
	if len(own) > 0 {
		rows = own
	}
	best = rows[0]
	for _, r := range rows[1:] {
		order, err := d.order(ctx, best.version, r.version)
		if err != nil {
			return best, err
		}
		if order < 0 {
			best = r
		}
	}
	return best, nil
}

// argv begins a command line of dnf.
func (d dnf) argv(arguments ...string) []string {
	argv := []string{d.program}
	if d.program != "dnf5" { // which has no such option, and waits
		argv = append(argv, "--setopt=exit_on_lock=True")
	}
	if d.valid > 0 {
		argv = append(argv, fmt.Sprintf("--setopt=metadata_expire=%d", int(math.Ceil(d.valid.Seconds()))))
	}
	return append(argv, arguments...)
}

// rehearse implements [changer].
func (d dnf) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	var said dnfOutput
	exit, err := d.unlocked(ctx, func() (modules.Exit, error) {
		said = dnfOutput{}
		return d.query(ctx, "", said.line, d.argv(append([]string{"--assumeno"}, dnfArguments(t)...)...)...)
	})
	switch {
	case err != nil:
		return nil, err
	case exit.Code == 0, strings.Contains(exit.Stderr.Text, "Operation aborted"):
		return said.done, nil
	}
	return nil, modules.Refuse("%w", failure(d.program+" "+strings.Join(dnfArguments(t), " "), exit, nil))
}

// carryOut implements [changer].
func (d dnf) carryOut(ctx context.Context, t transaction) error {
	var said dnfOutput
	command := modules.Command{
		Argv:   d.argv(append([]string{"-y"}, dnfArguments(t)...)...),
		Env:    environment,
		OnLine: func(line string) { said.line(line) },
	}
	exit, err := d.unlocked(ctx, func() (modules.Exit, error) {
		said = dnfOutput{}
		return d.Run(ctx, command)
	})
	switch {
	case err != nil:
		return err
	case exit.Code != 0:
		return failure(d.program+" "+string(t.verb), exit, said.reasons)
	}
	return nil
}

// exitLocked is how dnf 4 ends when another process holds one of its locks.
const exitLocked = 200

// unlocked runs dnf until it gets its locks.
func (d dnf) unlocked(ctx context.Context, run func() (modules.Exit, error)) (modules.Exit, error) {
	return d.patiently(ctx, run, func(exit modules.Exit) (string, bool) {
		return dnfHolder(exit.Stderr.Text), exit.Code == exitLocked
	})
}

// dnfArguments are the arguments of dnf for a transaction.
func dnfArguments(t transaction) []string {
	arguments := []string{string(t.verb)}
	if t.verb == remove { // and not what it once needed
		arguments = []string{"--setopt=clean_requirements_on_remove=False", string(t.verb)}
	}
	for _, i := range t.items {
		arguments = append(arguments, dnfSpec(i))
	}
	return arguments
}

// dnfSpec names a package to dnf: name-epoch:version-release.arch.
func dnfSpec(i item) string {
	if i.version == "" {
		return i.name
	}
	name, arch := splitArch(i.name)
	if arch != "" {
		arch = "." + arch
	}
	return name + "-" + i.version + arch
}
