package pkg

import (
	"bufio"
	"context"
	"errors"
	"io"
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
func (i *installation) withHold(s *steps) (*steps, error) {
	have := i.have
	if i.Hold == nil || s != nil && s.fetch {
		return s, nil
	}
	if *i.Hold && (s == nil && !have.there() || s != nil && s.verb == install && s.version == "" && !s.awaits) {
		return nil, modules.Refuse("%q is a virtual package, which cannot be held; name the package itself", i.Name)
	}
	changes := s != nil && (s.verb == remove || s.version == "" || s.version != have.Version)
	if s == nil {
		if have.Held == *i.Hold {
			return nil, nil
		}
		s = &steps{}
	}
	s.release = have.Held && (changes || !*i.Hold)
	s.hold = *i.Hold && (!have.Held || s.release)
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
