package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/modules/rooted"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/start"
)

// connectionFlags say how hosts are reached, and as whom.
type connectionFlags struct {
	app             *app
	given           reach.Options // as far as flags say it word for word
	hostKeyChecking string
	retries         int
	secrets         reach.SecretSources
	sshConfig       string
	matchExec       bool

	known *reach.Secrets // nil until hosts are contacted
	set   *pflag.FlagSet // to ask whether --connect-retries is given
}

func (f *connectionFlags) register(set *pflag.FlagSet) {
	f.set = set
	o, s := &f.given, &f.secrets
	set.StringVarP(&o.User, "user", "u", "", "log in as this `user`")
	set.BoolVarP(&o.Become, "become", "b", false, "run as root, or as --become-user")
	set.StringVar(&o.BecomeUser, "become-user", "", "run as this `user` (default root)")
	set.StringVar(&o.BecomeMethod, "become-method", "", "program for --become: sudo (default), su or doas")
	set.StringArrayVar(&o.PrivateKeys, "private-key", nil, "private key `file` for login; may be repeated (also: --key-file)")
	set.StringArrayVar(&o.KnownHosts, "known-hosts", nil, "known_hosts `file` to use instead of OpenSSH's; may be repeated")
	set.StringVar(&f.hostKeyChecking, "host-key-checking", "", "unknown host keys: strict (refuse, the default) or accept-new")
	set.VarP(seconds{&o.Timeout}, "timeout", "T", "timeout of a connection and of a login (default 10s, or as in ssh_config; login 60s)")
	set.IntVar(&f.retries, "connect-retries", 2, "retries after a connection error that may be temporary; if you set it, timeouts are retried too")
	// None of these takes a secret itself: arguments can be read by everybody.
	set.BoolVarP(&s.Ask, "ask-pass", "k", false, "prompt for the login password")
	set.StringVar(&s.File, "password-file", "", "`file` with the login password, or a program that prints it (also: --connection-password-file, --conn-pass-file)")
	set.BoolVarP(&s.AskBecome, "ask-become-pass", "K", false, "prompt for the password of --become")
	set.StringVar(&s.BecomeFile, "become-password-file", "", "`file` with the password of --become, or a program that prints it (also: --become-pass-file)")
	set.StringVar(&s.PassphraseFile, "key-passphrase-file", "", "`file` with the passphrase of private keys, or a program that prints it")
	set.StringVarP(&f.sshConfig, "ssh-config", "F", "", "ssh_config `file` to use instead of ~/.ssh/config and /etc/ssh/ssh_config; none disables them")
	set.BoolVar(&f.matchExec, "allow-match-exec", false, "run the commands of \"Match exec\" in ssh_config")
}

func (f *connectionFlags) validate() error {
	if method := f.given.BecomeMethod; method != "" && !slices.Contains(start.Methods, method) {
		return fmt.Errorf("--become-method %q: use one of %s", method, strings.Join(start.Methods, ", "))
	}
	if f.retries < 0 {
		return fmt.Errorf("--connect-retries %d: at least 0", f.retries)
	}
	if err := f.secrets.Validate(); err != nil {
		return err
	}
	_, err := f.hostKeys()
	return err
}

// hostKeys is the policy for unknown host keys.
func (f *connectionFlags) hostKeys() (transport.HostKeyPolicy, error) {
	switch f.hostKeyChecking {
	case "", "strict", "yes":
		return transport.Strict, nil
	case "accept-new":
		return transport.AcceptNew, nil
	case "no", "off":
		return 0, fmt.Errorf("--host-key-checking %s would accept any host; use accept-new, which accepts only unknown hosts", f.hostKeyChecking)
	}
	return 0, fmt.Errorf("--host-key-checking %q: use strict or accept-new", f.hostKeyChecking)
}

// options is what the flags say about reaching hosts. newKnownHosts lets files of
// --known-hosts be missing.
func (f *connectionFlags) options(account *user.User, newKnownHosts bool) (reach.Options, error) {
	policy, err := f.hostKeys()
	err = errors.Join(err, f.readable("--private-key", f.given.PrivateKeys))
	if policy == transport.Strict && !newKnownHosts { // otherwise the file may be about to be made
		err = errors.Join(err, f.readable("--known-hosts", f.given.KnownHosts))
	}
	o := f.given
	o.LocalUser = account.Username
	o.HostKeys, o.HostKeysGiven = policy, f.hostKeyChecking != ""
	o.Become = o.Become || o.BecomeUser != ""
	o.RetriesGiven = f.set.Changed("connect-retries")
	o.Warn = f.app.warnOnce
	return o, err
}

// readable reports the files of a flag that cannot be read: no host is to blame.
func (f *connectionFlags) readable(flag string, paths []string) error {
	var errs []error
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok { // as the connection will read it
			path = filepath.Join(f.app.home(), rest)
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
func (f *connectionFlags) dialer(account *user.User) *dial.Dialer {
	a := f.app
	d := &dial.Dialer{FileDir: rooted.FileDir, Home: a.home(), AgentSocket: a.getenv("SSH_AUTH_SOCK"), Shell: a.getenv("SHELL"), LocalEnv: localEnv(a.environ, account)}
	switch {
	case !f.set.Changed("connect-retries"): // 0 is the default
	case f.retries == 0:
		d.Retries = -1
	default:
		d.Retries = f.retries
	}
	return d
}

// mentionPasswords lets an explanation say where passwords would be from: nobody
// is asked for them.
func (f *connectionFlags) mentionPasswords(o *reach.Options) {
	if f.secrets.HasPassword() {
		o.Password = transport.NewSecret(nil)
	}
	if f.secrets.HasBecome() {
		o.BecomePassword = transport.NewSecret(nil)
	}
}

// addSecrets gets what only the operator knows. It is called when it is certain that hosts will be
// contacted. Nothing is asked for again where one run follows another.
func (f *connectionFlags) addSecrets(ctx context.Context, o *reach.Options) error {
	if f.known == nil {
		sources := f.secrets
		sources.Home, sources.Stderr = f.app.home(), fileOf(f.app.err)
		waiting, end := f.app.untilStop(ctx)
		known, err := sources.Read(waiting)
		end()
		if err != nil {
			return interrupted(err)
		}
		f.known = known
	}
	known := f.known
	o.Password, o.BecomePassword = known.Password, known.Become
	o.Passphrase = func(ctx context.Context, path string, again bool) (*transport.Secret, error) {
		ctx, end := f.app.untilStop(ctx)
		defer end()
		passphrase, err := known.Passphrase(ctx, path, again)
		return passphrase, interrupted(err)
	}
	return nil
}

// passphrases asks for those of encrypted private keys, for a command that contacts no host. The
// file that may have them is read when the first is wanted.
func (f *connectionFlags) passphrases(ctx context.Context) func(path string, again bool) (*transport.Secret, error) {
	var known *reach.Secrets
	return func(path string, again bool) (*transport.Secret, error) {
		waiting, end := f.app.untilStop(ctx)
		defer end()
		if known == nil {
			var err error
			sources := reach.SecretSources{PassphraseFile: f.secrets.PassphraseFile, Home: f.app.home(), Stderr: fileOf(f.app.err)}
			if known, err = sources.Read(waiting); err != nil {
				return nil, interrupted(err)
			}
		}
		answer, err := known.Passphrase(waiting, path, again)
		return answer, interrupted(err)
	}
}

// interrupted gives Ctrl-C at a prompt its exit status.
func interrupted(err error) error {
	if errors.Is(err, reach.ErrInterrupted) {
		return exitStatus(interruptedStatus)
	}
	return err
}
