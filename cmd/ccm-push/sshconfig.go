package main

import (
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

// systemSSHConfig is where OpenSSH has what counts for all users.
const systemSSHConfig = "/etc/ssh/ssh_config"

// sshConfig reads ssh_config(5): the file that --ssh-config names, or the user's own
// and that of the system.
func (a *app) sshConfig(ctx context.Context, account *user.User) (*sshconfig.Config, error) {
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return nil, fmt.Errorf("the id of user %s: %w", account.Username, err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	env := sshconfig.Environment{
		LocalUser: account.Username, UID: uid, Home: a.home(), LocalHost: host,
		LookupEnv: func(name string) (string, bool) { value, ok := a.environ[name]; return value, ok },
	}
	if a.flags.matchExec {
		env.Exec = func(command string) (bool, error) { return a.matchExec(ctx, command) }
	}
	config, err := sshconfig.Load(env, a.sshConfigFiles()...)
	if err != nil {
		return nil, positioned(err)
	}
	for _, w := range config.Warnings() {
		a.warn(w)
	}
	return config, nil
}

func (a *app) sshConfigFiles() []sshconfig.File {
	switch path := a.flags.sshConfig; {
	case path == "none":
		return nil
	case path != "":
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(a.home(), rest)
		}
		return []sshconfig.File{{Path: path, User: true, Named: true}}
	}
	files := []sshconfig.File{{Path: systemSSHConfig}}
	if a.home() != "" {
		files = append([]sshconfig.File{{Path: filepath.Join(a.home(), ".ssh", "config"), User: true}}, files...)
	}
	return files
}

// positioned gives mistakes in ssh_config the form that those in other files have.
func positioned(err error) error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if one, ok := errors.AsType[*sshconfig.Error](err); ok {
			return &yamlpos.Error{File: one.At, Msg: one.Msg, Hint: one.Hint}
		}
		return err
	}
	var errs yamlpos.Errors
	for _, one := range several.Unwrap() {
		errs.Add(positioned(one))
	}
	return errs.Err()
}

// maxMatchExec is how long a command of "Match exec" may take.
const maxMatchExec = 10 * time.Second

// matchExec runs a command of "Match exec" as ssh does, by the user's shell and
// without a terminal, and reports whether its status is 0.
func (a *app) matchExec(ctx context.Context, command string) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxMatchExec, fmt.Errorf("it took longer than %s", maxMatchExec))
	defer cancel()
	shell := a.getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
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

// warnOnce warns of what concerns many hosts alike.
func (a *app) warnOnce(text string) {
	a.warning.Lock()
	defer a.warning.Unlock()
	if a.warned[text] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
	a.warn(text)
}
