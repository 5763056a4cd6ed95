package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/credentials"
	"github.com/ccm-push/ccm-push/transport"
)

// registerPasswords registers where the secrets of a run come from. None of the flags takes
// a secret itself: arguments can be read by everybody.
func registerPasswords(s *credentials.Sources, set *pflag.FlagSet) {
	set.BoolVarP(&s.Ask, "ask-pass", "k", false, "ask for the password to log in with")
	set.StringVar(&s.File, "password-file", "", "file with the password to log in with, or a program that prints it (also: --connection-password-file, --conn-pass-file)")
	set.BoolVarP(&s.AskBecome, "ask-become-pass", "K", false, "ask for the password to become another user with")
	set.StringVar(&s.BecomeFile, "become-password-file", "", "file with the password to become another user with, or a program that prints it (also: --become-pass-file)")
	set.StringVar(&s.PassphraseFile, "key-passphrase-file", "", "file with the passphrase of encrypted private keys, or a program that prints it")
}

// addPasswords gives the runner what only the operator knows. It is called once,
// when it is certain that hosts will be contacted.
func (a *app) addPasswords(ctx context.Context, r *playbooks.Runner) error {
	sources := a.flags.passwords
	sources.Home, sources.Stderr = a.home(), fileOf(a.err)
	waiting, end := a.untilStop(ctx)
	known, err := sources.Read(waiting)
	end()
	if err != nil {
		return interrupted(err)
	}
	r.Connect.Password, r.Connect.BecomePassword = known.Password, known.Become
	r.Connect.Passphrase = func(ctx context.Context, path string, again bool) (*transport.Secret, error) {
		ctx, end := a.untilStop(ctx)
		defer end()
		passphrase, err := known.Passphrase(ctx, path, again)
		return passphrase, interrupted(err)
	}
	return nil
}

// interrupted gives Ctrl-C at a prompt its exit status.
func interrupted(err error) error {
	if errors.Is(err, credentials.ErrInterrupted) {
		return exitStatus(interruptedStatus)
	}
	return err
}

// credentials gives the runner what it takes to get into hosts, for a command that
// is about these alone.
func (a *app) credentials(ctx context.Context, r *playbooks.Runner, hosts []*inventory.Host) error {
	if err := a.addPasswords(ctx, r); err != nil {
		return err
	}
	if err := r.CheckReach(hosts); err != nil {
		return errors.Join(err, r.CheckFiles(hosts))
	}
	return errors.Join(r.Unlock(ctx, hosts), r.CheckFiles(hosts))
}
