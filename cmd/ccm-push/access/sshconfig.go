package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

// systemSSHConfig is the path of OpenSSH's configuration for all users.
const systemSSHConfig = "/etc/ssh/ssh_config"

// ReadSSHConfig reads ssh_config(5): the file of --ssh-config, or the files of the user and the system.
func (f *Connections) ReadSSHConfig(ctx context.Context, account *user.User) (*sshconfig.Config, error) {
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return nil, fmt.Errorf("the id of user %s: %w", account.Username, err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	a := f.App
	env := sshconfig.Environment{
		LocalUser: account.Username, UID: uid, Home: a.Home(), LocalHost: host,
		LookupEnv: func(name string) (string, bool) { value, ok := a.Environ[name]; return value, ok },
	}
	if f.Flags.Connection.MatchExec {
		shell := cmp.Or(a.Getenv("SHELL"), "/bin/sh")
		env.Exec = func(command string) (bool, error) { return matchExec(ctx, shell, command) }
	}
	config, err := sshconfig.Load(env, sshConfigFiles(f.Flags.Connection.SSHConfig, a.Home())...)
	if err != nil {
		return nil, Positioned(err)
	}
	for _, w := range config.Warnings() {
		a.Warn(w)
	}
	return config, nil
}

// sshConfigFiles returns the files to read: the named one, or the usual ones.
func sshConfigFiles(named, home string) []sshconfig.File {
	if named == "none" {
		return nil
	}
	if named != "" {
		if rest, ok := strings.CutPrefix(named, "~/"); ok {
			named = filepath.Join(home, rest)
		}
		return []sshconfig.File{{Path: named, User: true, Named: true}}
	}
	files := []sshconfig.File{{Path: systemSSHConfig}}
	if home != "" {
		files = append([]sshconfig.File{{Path: filepath.Join(home, ".ssh", "config"), User: true}}, files...)
	}
	return files
}

// Positioned converts errors of ssh_config to the form of errors in other files.
func Positioned(err error) error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if one, ok := errors.AsType[*sshconfig.Error](err); ok {
			return &yamlpos.Error{File: one.At, Msg: one.Msg, Hint: one.Hint}
		}
		return err
	}
	var errs yamlpos.Errors
	for _, one := range several.Unwrap() {
		errs.Add(Positioned(one))
	}
	return errs.Err()
}

// maxMatchExec is the timeout of a command of "Match exec".
const maxMatchExec = 10 * time.Second

// matchExec runs a command of "Match exec" as ssh does, by the user's shell and
// without a terminal, and reports whether its status is 0.
func matchExec(ctx context.Context, shell, command string) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxMatchExec, fmt.Errorf("it took longer than %s", maxMatchExec))
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("%q: %w", command, context.Cause(ctx))
	case err == nil, exited:
		return err == nil, nil
	}
	return false, fmt.Errorf("%q: %w", command, err)
}
