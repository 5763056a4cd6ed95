package access

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

// Connections makes dialers and logins from the flags.
type Connections struct {
	App   *app.App
	Flags *flags.All

	known *reach.Secrets // nil until hosts are contacted
}

// Options returns the connection options of the flags. With newKnownHosts, files of --known-hosts may be missing.
func (f *Connections) Options(account *user.User, newKnownHosts bool) (reach.Options, error) {
	policy, err := f.Flags.Connection.HostKeys()
	err = errors.Join(err, f.readable("--private-key", f.Flags.Connection.Given.PrivateKeys))
	if policy == transport.Strict && !newKnownHosts { // otherwise the file may be about to be made
		err = errors.Join(err, f.readable("--known-hosts", f.Flags.Connection.Given.KnownHosts))
	}
	o := f.Flags.Connection.Given
	o.LocalUser = account.Username
	o.HostKeys, o.HostKeysGiven = policy, f.Flags.Connection.HostKeyChecking != ""
	o.Become = o.Become || o.BecomeUser != ""
	o.RetriesGiven = f.Flags.Changed("connect-retries")
	o.Warn = f.App.WarnOnce
	return o, err
}

// readable reports the files of a flag that cannot be read: no host is to blame.
func (f *Connections) readable(flag string, paths []string) error {
	var errs []error
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok { // as the connection will read it
			path = filepath.Join(f.App.Home(), rest)
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

// Dialer connects as the flags and the environment say. It must be closed.
func (f *Connections) Dialer(account *user.User) *dial.Dialer {
	a := f.App
	d := &dial.Dialer{FileDir: rooted.FileDir, Home: a.Home(), AgentSocket: a.Getenv("SSH_AUTH_SOCK"), Shell: a.Getenv("SHELL"), LocalEnv: localEnv(a.Environ, account)}
	switch {
	case !f.Flags.Changed("connect-retries"): // 0 is the default
	case f.Flags.Connection.Retries == 0:
		d.Retries = -1
	default:
		d.Retries = f.Flags.Connection.Retries
	}
	return d
}

// MentionPasswords sets empty passwords, so that an explanation names their sources without a prompt.
func (f *Connections) MentionPasswords(o *reach.Options) {
	if f.Flags.Connection.Secrets.HasPassword() {
		o.Password = transport.NewSecret(nil)
	}
	if f.Flags.Connection.Secrets.HasBecome() {
		o.BecomePassword = transport.NewSecret(nil)
	}
}

// AddSecrets reads the secrets that only the operator knows. Callers call it once it is certain that hosts will be
// contacted. If one run follows another, there is no second prompt.
func (f *Connections) AddSecrets(ctx context.Context, o *reach.Options) error {
	if f.known == nil {
		sources := f.Flags.Connection.Secrets
		sources.Home, sources.Stderr = f.App.Home(), output.FileOf(f.App.Err)
		waiting, end := f.App.UntilStop(ctx)
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
		ctx, end := f.App.UntilStop(ctx)
		defer end()
		passphrase, err := known.Passphrase(ctx, path, again)
		return passphrase, exit.Prompted(err)
	}
	return nil
}

// passphrases returns a function that prompts for the passphrases of encrypted private keys, for a command that
// contacts no host. The file that may have them is read when the first is needed.
func (f *Connections) passphrases(ctx context.Context) func(path string, again bool) (*transport.Secret, error) {
	var known *reach.Secrets
	return func(path string, again bool) (*transport.Secret, error) {
		waiting, end := f.App.UntilStop(ctx)
		defer end()
		if known == nil {
			var err error
			sources := reach.SecretSources{PassphraseFile: f.Flags.Connection.Secrets.PassphraseFile, Home: f.App.Home(), Stderr: output.FileOf(f.App.Err)}
			if known, err = sources.Read(waiting); err != nil {
				return nil, exit.Prompted(err)
			}
		}
		answer, err := known.Passphrase(waiting, path, again)
		return answer, exit.Prompted(err)
	}
}
