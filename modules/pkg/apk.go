package pkg

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// apk is the package manager of Alpine Linux. The packages to install are listed in its "world", /etc/apk/world. A
// version that the resource names stays there as a constraint.
type apk struct{ *access }

func (apk) database() string { return "/etc/apk/world" }

// changes implements [changer].
func (a apk) changes() modules.Sources {
	return a.told(a.database(), "/lib/apk/db/installed", "/usr/lib/apk/db/installed")
}

// release implements [changer].
func (apk) release(string) string { return "" }

// order implements [judge]. It runs apk, so that apk's own order counts.
func (a apk) order(ctx context.Context, one, other string) (int, error) {
	if one == other {
		return 0, nil
	}
	exit, err := a.query(ctx, Effect, nil, "apk", "version", "-t", one, other)
	if err != nil {
		return 0, err
	}
	switch strings.TrimSpace(exit.Stdout.Text) {
	case "<":
		return -1, nil
	case "=":
		return 0, nil
	case ">":
		return 1, nil
	}
	if exit.Code == 0 {
		return 0, modules.Refuse("apk cannot compare the versions %q and %q", one, other)
	}
	return 0, failure("apk version -t", exit, nil)
}

// against implements [judge].
func (a apk) against(ctx context.Context, have, wanted string) (int, error) {
	return a.order(ctx, have, wanted)
}

// policy reads which versions of packages are installed and available.
func (a apk) policy(ctx context.Context, reads modules.EffectKind, names ...string) (*apkPolicy, error) {
	policy := &apkPolicy{versions: map[string][]apkVersion{}}
	exit, err := a.query(ctx, reads, policy.line, append([]string{"apk", "policy"}, names...)...)
	if err == nil && exit.Code != 0 && len(policy.versions) == 0 && exit.Code > len(names) {
		err = failure("apk policy", exit, nil)
	}
	return policy, err
}

// installed implements [looker].
func (a apk) installed(ctx context.Context, name string) (State, error) {
	states := map[string]State{}
	err := a.survey(ctx, []string{name}, states)
	return states[name], err
}

// survey implements [surveyor].
func (a apk) survey(ctx context.Context, names []string, states map[string]State) error {
	policy, err := a.policy(ctx, Effect, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		states[name] = State{}
		for _, v := range policy.versions[name] {
			if v.installed {
				states[name] = State{Installed: true, Version: v.version}
			}
		}
	}
	return nil
}

// provider implements [looker].
func (a apk) provider(ctx context.Context, name string) (string, error) {
	exit, err := a.query(ctx, Effect, nil, "apk", "info", "-e", name)
	if err != nil || exit.Code != 0 {
		return "", err
	}
	provider, _, _ := strings.Cut(strings.TrimSpace(exit.Stdout.Text), "\n")
	return provider, nil
}

// offer implements [looker].
func (a apk) offer(ctx context.Context, name, version string) (string, error) {
	policy, err := a.policy(ctx, "", name)
	if err != nil {
		return "", err
	}
	available := policy.available(name)
	switch {
	case len(available) == 0:
		return a.nothing(ctx, name, version)
	case version == "":
		return a.newest(ctx, available)
	case slices.Contains(available, version):
		return version, nil
	}
	slices.Reverse(available) // apk prints the lowest first
	return "", lacks("version %s of %q is not available; available: %s", version, name, words(some(available)))
}

// newest finds the highest of versions.
func (a apk) newest(ctx context.Context, versions []string) (string, error) {
	highest := versions[0]
	for _, v := range versions[1:] {
		order, err := a.order(ctx, highest, v)
		if err != nil {
			return "", err
		}
		if order < 0 {
			highest = v
		}
	}
	return highest, nil
}

// nothing returns an error for a package that is not found, or "" for a virtual package.
func (a apk) nothing(ctx context.Context, name, version string) (string, error) {
	exit, err := a.query(ctx, "", nil, "apk", "add", "--simulate", "--no-progress", name)
	switch {
	case err != nil:
		return "", err
	case exit.Code == 0 && version == "": // something provides it
		return "", nil
	case exit.Code == 0:
		return "", modules.Refuse("no version of %q is available, so not %s", name, version)
	}
	return "", a.unknown(ctx, name, apkLists)
}

// offers implements [surveyor].
func (a apk) offers(ctx context.Context, names []string, offers map[string]string) error {
	policy, err := a.policy(ctx, "", names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if available := policy.available(name); len(available) > 0 {
			if offers[name], err = a.newest(ctx, available); err != nil {
				return err
			}
		}
	}
	return nil
}

var apkLists = lists{"/var/cache/apk", "APKINDEX*", []string{"/etc/apk/repositories", "/etc/apk/repositories.d"}, nil}

// fresh implements [lister].
func (a apk) fresh(ctx context.Context, within time.Duration) (bool, error) {
	return a.younger(ctx, apkLists, within)
}

// fetch implements [lister].
func (a apk) fetch(ctx context.Context) error {
	if err := a.change(ctx, "update", "--no-progress"); err != nil {
		return err
	}
	return a.touch(ctx, apkLists)
}

// rehearse implements [changer].
func (a apk) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	var said apkOutput
	arguments := apkArguments(t, "--simulate")
	exit, err := a.query(ctx, "", said.line, append([]string{"apk"}, arguments...)...)
	switch {
	case err != nil:
		return nil, err
	case exit.Code != 0 || len(said.reasons) > 0: // apk does not remove packages that others need, and reports that
		return nil, modules.Refuse("%w", failure("apk "+strings.Join(arguments, " "), exit, said.reasons))
	}
	return said.done, nil
}

// carryOut implements [changer].
func (a apk) carryOut(ctx context.Context, t transaction) error {
	return a.change(ctx, apkArguments(t)...)
}

// change runs apk until it gets its lock.
func (a apk) change(ctx context.Context, arguments ...string) error {
	var said apkOutput
	command := modules.Command{
		Argv:   append([]string{"apk"}, arguments...),
		Env:    environment,
		OnLine: func(line string) { said.line(line) },
		Follow: true,
	}
	exit, err := a.untilUnlocked(ctx, func() (modules.Exit, error) {
		said = apkOutput{}
		return a.Run(ctx, command)
	}, func(exit modules.Exit) (string, bool) {
		return "another process", apkLocked().MatchString(exit.Stderr.Text)
	})
	if err == nil && exit.Code != 0 {
		err = failure("apk "+arguments[0], exit, said.reasons)
	}
	return err
}

// apkLocked matches the error of apk when another process has its lock; the lock can also fail for other reasons.
var apkLocked = lazily(`(?i)unable to lock database: (resource )?tempora`)

// apkArguments are the arguments of apk for a transaction. The world contains a version only if the resource names it:
// any other one is apk's choice when it upgrades.
func apkArguments(t transaction, options ...string) []string {
	arguments := []string{"add", "--upgrade", "--no-progress"}
	if t.verb == remove {
		arguments = []string{"del", "--no-progress"}
	}
	arguments = append(arguments, options...)
	for _, i := range t.items {
		if i.pinned {
			i.name += "=" + i.version
		}
		arguments = append(arguments, i.name)
	}
	return arguments
}

// held implements [holding].
func (apk) held(string, State) (bool, error) {
	return false, modules.Refuse(`apk cannot hold packages; write the version in the property "ensure": apk stores the version in /etc/apk/world, and upgrades keep this version`)
}

func (apk) holds() []string { return nil }

func (apk) setHold(context.Context, []string, bool) error { return errors.ErrUnsupported }

func (apk) suffix() string { return "" }

// inFile implements [filer].
func (apk) inFile(context.Context, string) (name, version string, err error) {
	return "", "", errors.ErrUnsupported
}

// versions implements [looker].
func (a apk) versions(ctx context.Context, name string) ([]string, error) {
	policy, err := a.policy(ctx, "", name)
	return policy.available(name), err
}

// outlook implements [upgrader].
func (a apk) outlook(ctx context.Context, u *Upgrader) (outlook, error) {
	if u.Security {
		return outlook{}, noAdvisories("apk")
	}
	var said apkOutput
	exit, err := a.query(ctx, "", said.line, "apk", "upgrade", "--no-progress", "--simulate")
	if err == nil && exit.Code != 0 {
		err = modules.Refuse("%w", failure("apk upgrade", exit, said.reasons))
	}
	return outlook{done: said.done}, err
}

// upgrade implements [upgrader].
func (a apk) upgrade(ctx context.Context, _ *Upgrader, _ outlook) error {
	return a.change(ctx, "upgrade", "--no-progress")
}
