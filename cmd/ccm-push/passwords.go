package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// passwordFlags are where the secrets of a run come from. None of them takes a
// secret itself: arguments can be read by everybody.
type passwordFlags struct {
	ask, askBecome                   bool
	file, becomeFile, passphraseFile string

	connection, becoming, passphrase *transport.Secret // once they are known
}

func (f *passwordFlags) register(set *pflag.FlagSet) {
	set.BoolVarP(&f.ask, "ask-pass", "k", false, "ask for the password to log in with")
	set.StringVar(&f.file, "password-file", "", "file with the password to log in with, or a program that prints it (also: --connection-password-file, --conn-pass-file)")
	set.BoolVarP(&f.askBecome, "ask-become-pass", "K", false, "ask for the password to become another user with")
	set.StringVar(&f.becomeFile, "become-password-file", "", "file with the password to become another user with, or a program that prints it (also: --become-pass-file)")
	set.StringVar(&f.passphraseFile, "key-passphrase-file", "", "file with the passphrase of encrypted private keys, or a program that prints it")
}

// validate refuses two sources for one secret.
func (f *passwordFlags) validate() error {
	switch {
	case f.ask && f.file != "":
		return errors.New("--ask-pass and --password-file: one of them is enough")
	case f.askBecome && f.becomeFile != "":
		return errors.New("--ask-become-pass and --become-password-file: one of them is enough")
	}
	return nil
}

const (
	// maxPasswordFile is far above the size of any password, in bytes.
	maxPasswordFile = 64 << 10
	// passwordPatience is how long a program may take to give a password: it may ask
	// a person.
	passwordPatience = 2 * time.Minute
)

// addPasswords gives the runner what only the operator knows. It is called once,
// when it is certain that hosts will be contacted.
func (a *app) addPasswords(ctx context.Context, r *playbooks.Runner) error {
	f := &a.flags.passwords
	ctx, end := a.untilStop(ctx)
	defer end()
	var err error
	if f.file != "" {
		f.connection, err = a.readPassword(ctx, "--password-file", f.file)
	} else if f.ask {
		f.connection, err = a.askPassword(ctx, "SSH password: ")
	}
	if err != nil {
		return err
	}
	switch {
	case f.becomeFile != "":
		f.becoming, err = a.readPassword(ctx, "--become-password-file", f.becomeFile)
	case f.askBecome && f.connection != nil:
		f.becoming, err = a.askSecret(ctx, "BECOME password (empty: the SSH password): ")
		if err == nil && len(f.becoming.Reveal()) == 0 {
			f.becoming = f.connection
		}
	case f.askBecome:
		f.becoming, err = a.askPassword(ctx, "BECOME password: ")
	}
	if err != nil {
		return err
	}
	if f.becoming != nil {
		if err := transport.CheckBecomePassword(f.becoming); err != nil {
			return err
		}
	}
	if f.passphraseFile != "" {
		if f.passphrase, err = a.readPassword(ctx, "--key-passphrase-file", f.passphraseFile); err != nil {
			return err
		}
	}
	r.Connect.Password, r.Connect.BecomePassword = f.connection, f.becoming
	r.Connect.Passphrase = a.passphraseFor
	return nil
}

// askPassword asks for a password that cannot be empty.
func (a *app) askPassword(ctx context.Context, prompt string) (*transport.Secret, error) {
	answer, err := a.askSecret(ctx, prompt)
	if err == nil && len(answer.Reveal()) == 0 {
		return nil, fmt.Errorf("%snone was given", prompt)
	}
	return answer, err
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

// passphraseFor is asked about each encrypted key file that a run would use. The
// file of passphrases is not asked twice, and without a terminal nobody is.
func (a *app) passphraseFor(ctx context.Context, path string, again bool) (*transport.Secret, error) {
	f := &a.flags.passwords
	switch {
	case f.passphrase != nil && again:
		return nil, fmt.Errorf("--key-passphrase-file: private key %s: %w", path, transport.ErrPassphrase)
	case f.passphrase != nil:
		return f.passphrase, nil
	}
	ctx, end := a.untilStop(ctx)
	defer end()
	prompt := "passphrase of " + path + " (empty: do without): "
	if again {
		prompt = "that was wrong; " + prompt
	}
	answer, err := a.askSecret(ctx, prompt)
	if errors.Is(err, errNoTerminal) || err == nil && len(answer.Reveal()) == 0 {
		return nil, nil
	}
	return answer, err
}

// readPassword reads a file, or what a program prints. Bytes stay what they are; a
// newline at the end is not one of them.
func (a *app) readPassword(ctx context.Context, flag, path string) (*transport.Secret, error) {
	text, err := a.passwordText(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, err)
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	switch {
	case len(text) == 0:
		err = errors.New("there is no password in it")
	case len(text) >= maxPasswordFile:
		err = fmt.Errorf("more than %d KiB are no password", maxPasswordFile>>10)
	case bytes.ContainsAny(text, "\r\n"):
		err = errors.New("there is more than one line in it")
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, err)
	}
	return transport.NewSecret(text), nil
}

func (a *app) passwordText(ctx context.Context, path string) ([]byte, error) {
	if path == "-" {
		return nil, errors.New("a name is wanted; /dev/stdin is one")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(a.home(), rest)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, withoutName(err)
	}
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return nil, errors.New("it is a folder")
	case mode.IsRegular() && mode.Perm()&0o111 != 0 && mode.Perm()&0o022 != 0:
		return nil, fmt.Errorf("it is executable, and its mode %04o lets others change it; chmod 700 %s", mode.Perm(), path)
	case mode.IsRegular() && mode.Perm()&0o111 != 0 && !trustedOwner(info):
		return nil, errors.New("it is executable, and belongs to another user, who can change it")
	case mode.IsRegular() && mode.Perm()&0o111 != 0:
		return runPassword(ctx, path, fileOf(a.err))
	case mode.IsRegular() && mode.Perm()&0o077 != 0:
		return nil, fmt.Errorf("its mode %04o lets others at it; chmod 600 %s", mode.Perm(), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutName(err)
	}
	defer f.Close()
	// A pipe that nobody writes to ends with the program's first signal.
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(io.LimitReader(f, maxPasswordFile+2))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return text, withoutName(err)
}

// trustedOwner reports whether a file belongs to root or to whoever runs this.
func trustedOwner(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// runPassword gives what a program prints, as Ansible does with executable
// password files. It may ask on the terminal.
func runPassword(ctx context.Context, path string, stderr io.Writer) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, passwordPatience, fmt.Errorf("it took longer than %s", passwordPatience))
	defer cancel()
	if !strings.Contains(path, "/") {
		path = "./" + path
	}
	cmd := exec.CommandContext(ctx, path)
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		// Not wrapped: its exit status is not ours.
		return nil, fmt.Errorf("it is executable, and ended so: %v", withoutName(err))
	}
	return out.b, nil
}

// bounded takes no more than a password file may hold.
type bounded struct{ b []byte }

// Write implements [io.Writer].
func (w *bounded) Write(b []byte) (int, error) {
	if w.b = append(w.b, b...); len(w.b) > maxPasswordFile+2 {
		return 0, syscall.EFBIG
	}
	return len(b), nil
}

// withoutName is the cause of an error about a file that is named already.
func withoutName(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
