package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/modules/rooted"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// connections makes what reaches hosts, as the flags say.
type connections struct {
	app   *app.App
	flags *flags.All

	known *reach.Secrets // nil until hosts are contacted
}

// options returns the connection options of the flags. With newKnownHosts, files of --known-hosts may be missing.
func (f *connections) options(account *user.User, newKnownHosts bool) (reach.Options, error) {
	policy, err := f.flags.Connection.HostKeys()
	err = errors.Join(err, f.readable("--private-key", f.flags.Connection.Given.PrivateKeys))
	if policy == transport.Strict && !newKnownHosts { // otherwise the file may be about to be made
		err = errors.Join(err, f.readable("--known-hosts", f.flags.Connection.Given.KnownHosts))
	}
	o := f.flags.Connection.Given
	o.LocalUser = account.Username
	o.HostKeys, o.HostKeysGiven = policy, f.flags.Connection.HostKeyChecking != ""
	o.Become = o.Become || o.BecomeUser != ""
	o.RetriesGiven = f.flags.Changed("connect-retries")
	o.Warn = f.app.WarnOnce
	return o, err
}

// readable reports the files of a flag that cannot be read: no host is to blame.
func (f *connections) readable(flag string, paths []string) error {
	var errs []error
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok { // as the connection will read it
			path = filepath.Join(f.app.Home(), rest)
		}
		file, err := os.Open(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
			continue
		}
		file.Close()
	}
	return errors.Join(errs...)
}

// dialer connects as the flags and the environment say. It must be closed.
func (f *connections) dialer(account *user.User) *dial.Dialer {
	a := f.app
	d := &dial.Dialer{FileDir: rooted.FileDir, Home: a.Home(), AgentSocket: a.Getenv("SSH_AUTH_SOCK"), Shell: a.Getenv("SHELL"), LocalEnv: localEnv(a.Environ, account)}
	switch {
	case !f.flags.Changed("connect-retries"): // 0 is the default
	case f.flags.Connection.Retries == 0:
		d.Retries = -1
	default:
		d.Retries = f.flags.Connection.Retries
	}
	return d
}

// mentionPasswords sets empty passwords, so that an explanation names their sources without a prompt.
func (f *connections) mentionPasswords(o *reach.Options) {
	if f.flags.Connection.Secrets.HasPassword() {
		o.Password = transport.NewSecret(nil)
	}
	if f.flags.Connection.Secrets.HasBecome() {
		o.BecomePassword = transport.NewSecret(nil)
	}
}

// addSecrets reads the secrets that only the operator knows. Callers call it once it is certain that hosts will be
// contacted. If one run follows another, there is no second prompt.
func (f *connections) addSecrets(ctx context.Context, o *reach.Options) error {
	if f.known == nil {
		sources := f.flags.Connection.Secrets
		sources.Home, sources.Stderr = f.app.Home(), output.FileOf(f.app.Err)
		waiting, end := f.app.UntilStop(ctx)
		known, err := sources.Read(waiting)
		end()
		if err != nil {
			return exit.Prompted(err)
		}
		f.known = known
	}
	known := f.known
	o.Password, o.BecomePassword = known.Password, known.Become
	o.Passphrase = func(ctx context.Context, path string, again bool) (*transport.Secret, error) {
		ctx, end := f.app.UntilStop(ctx)
		defer end()
		passphrase, err := known.Passphrase(ctx, path, again)
		return passphrase, exit.Prompted(err)
	}
	return nil
}

// passphrases returns a function that prompts for the passphrases of encrypted private keys, for a command that
// contacts no host. The file that may have them is read when the first is needed.
func (f *connections) passphrases(ctx context.Context) func(path string, again bool) (*transport.Secret, error) {
	var known *reach.Secrets
	return func(path string, again bool) (*transport.Secret, error) {
		waiting, end := f.app.UntilStop(ctx)
		defer end()
		if known == nil {
			var err error
			sources := reach.SecretSources{PassphraseFile: f.flags.Connection.Secrets.PassphraseFile, Home: f.app.Home(), Stderr: output.FileOf(f.app.Err)}
			if known, err = sources.Read(waiting); err != nil {
				return nil, exit.Prompted(err)
			}
		}
		answer, err := known.Passphrase(waiting, path, again)
		return answer, exit.Prompted(err)
	}
}
