package pkg

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A holding manager keeps packages at their version, whichever program upgrades.
type holding interface {
	// held reports whether a package is on hold. have is its state.
	held(name string, have State) (bool, error)
	// setHold puts packages on hold, or takes them off it.
	setHold(ctx context.Context, names []string, on bool) error
	// holds are the files that record holds, if none of the watched sources does.
	holds() []string
}

// errHeld is the error of a transaction that cannot be simulated while one of its packages is on hold.
var errHeld = errors.New("packages on hold cannot be simulated")

// holdEffect is the kind of effect that a hold has: Key is the name of the package, State a bool.
const holdEffect modules.EffectKind = "hold"

// withHold adds the changes of the hold to the steps: a package that is on hold is taken off it while it changes. It
// returns nil if there is nothing to do.
func (p *Package) withHold(have State, s *steps) (*steps, error) {
	if p.Hold == nil || s != nil && s.fetch {
		return s, nil
	}
	if *p.Hold && (s == nil && !have.there() || s != nil && s.verb == install && s.version == "" && !s.awaits) {
		return nil, modules.Refuse("%q is a virtual package, which cannot be held; name the package itself", p.Name)
	}
	changes := s != nil && (s.verb == remove || s.version == "" || s.version != have.Version)
	if s == nil {
		if have.Held == *p.Hold {
			return nil, nil
		}
		s = &steps{}
	}
	s.release = have.Held && (changes || !*p.Hold)
	s.hold = *p.Hold && (!have.Held || s.release)
	return s, nil
}

// holdAction describes the change of the hold.
func holdAction(have State, s *steps) string {
	switch {
	case s.hold && !have.Held:
		return "put on hold"
	case s.release && !s.hold:
		return "taken off hold"
	}
	return ""
}

// held implements [holding]: dpkg reports it with the state.
func (apt) held(_ string, have State) (bool, error) { return have.Held, nil }

// holds implements [holding].
func (apt) holds() []string { return nil }

// setHold implements [holding].
func (a apt) setHold(ctx context.Context, names []string, on bool) error {
	verb := map[bool]string{true: "hold", false: "unhold"}[on]
	return a.locker(ctx, nil, append([]string{"apt-mark", "-q", verb, "--"}, names...)...)
}

// locker runs a program that puts packages on hold, until it gets the lock that it needs.
func (a *access) locker(ctx context.Context, lockedOut func(modules.Exit) (string, bool), argv ...string) error {
	if lockedOut == nil {
		lockedOut = func(modules.Exit) (string, bool) { return "", false }
	}
	exit, err := a.untilUnlocked(ctx, func() (modules.Exit, error) {
		return a.Run(ctx, modules.Command{Argv: argv, Env: environment, Timeout: queryTimeout})
	}, lockedOut)
	if err == nil && exit.Code != 0 {
		err = failure(strings.Join(argv[:min(3, len(argv))], " "), exit, nil)
	}
	return err
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

// setHold implements [holding].
func (d dnf) setHold(ctx context.Context, names []string, on bool) error {
	verb := map[bool]string{true: "add", false: "delete"}[on]
	argv := d.argv(append([]string{"-q", "-y", "versionlock", verb}, names...)...)
	return d.locker(ctx, func(exit modules.Exit) (string, bool) {
		return dnfHolder(exit.Stderr.Text), exit.Code == dnfExitLocked
	}, argv...)
}

// zypperHolds is the file with zypper's locks: paragraphs with a pattern each.
const zypperHolds = "/etc/zypp/locks"

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

// held implements [holding].
func (apk) held(string, State) (bool, error) {
	return false, modules.Refuse("apk cannot hold packages; write the version in the property ensure: apk stores the version in /etc/apk/world, and upgrades keep this version")
}

func (apk) holds() []string                               { return nil }
func (apk) setHold(context.Context, []string, bool) error { return errors.ErrUnsupported }

// held implements [holding].
func (pacman) held(string, State) (bool, error) {
	return false, modules.Refuse("pacman holds the packages of IgnorePkg in /etc/pacman.conf; set IgnorePkg with an ini resource")
}

func (pacman) holds() []string                               { return nil }
func (pacman) setHold(context.Context, []string, bool) error { return errors.ErrUnsupported }

// maxLocks bounds a file of locks, in bytes.
const maxLocks = 1 << 20

// eachLine reads the lines of a file that need not be there, without blanks around them, and no comments.
func (a *access) eachLine(name string, line func(string)) error {
	file, err := a.files.Open(name)
	switch {
	case modules.NotThere(err):
		return nil
	case err != nil:
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, maxLocks))
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" && !strings.HasPrefix(text, "#") {
			line(text)
		}
	}
	return lines.Err()
}
