package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// commands implements [modules.Commands].
type commands struct {
	accounts *accounts
	log      *commandLog // notes what Run has started; nil notes nothing
}

// waitDelay limits the reading of an ended program's output while one of its children holds it open.
const waitDelay = 2 * time.Second

// Probe implements [modules.Commands].
func (c *commands) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	return c.start(ctx, cmd, nil)
}

// Run implements [modules.Commands].
func (c *commands) Run(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	defer c.accounts.forget()
	return c.start(ctx, cmd, c.log)
}

func (c *commands) start(ctx context.Context, cmd modules.Command, f *commandLog) (modules.Exit, error) {
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if cmd.Path == "" {
		cmd.Path = modules.DefaultPath
	}
	if cmd.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, cmd.Timeout, modules.ErrTimeout)
		defer cancel()
	}
	process, err := c.process(ctx, cmd)
	if err != nil {
		return modules.Exit{}, err
	}
	return run(ctx, process, cmd, f)
}

// process prepares a program for its start, or returns why it cannot start.
func (c *commands) process(ctx context.Context, cmd modules.Command) (*exec.Cmd, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return nil, errors.New("no command specified")
	}
	if err := checkDir(cmd.Dir); err != nil {
		return nil, err
	}
	program, err := find(cmd)
	if err != nil {
		return nil, err
	}
	p := exec.CommandContext(ctx, program, cmd.Argv[1:]...)
	p.Args[0] = cmd.Argv[0]
	p.Dir = cmd.Dir
	// A session of its own is a process group to kill. And it has no terminal, which
	// may be what the controller is talked to on.
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.Cancel = func() error { return killGroup(p.Process.Pid) }
	p.WaitDelay = waitDelay
	if cmd.Stdin != "" {
		p.Stdin = strings.NewReader(cmd.Stdin)
	}
	p.Env = []string{"PATH=" + cmd.Path, "LANG=C", "LC_ALL=C"}
	switch {
	case cmd.User != "":
		if err := c.become(ctx, p, cmd.User); err != nil {
			return nil, err
		}
	case cmd.Home:
		p.Env = append(p.Env, c.accounts.self(ctx).environment()...)
	}
	p.Env = append(p.Env, cmd.Env...)
	return p, nil
}

// become makes a program run as another user, with that user's groups and home.
func (c *commands) become(ctx context.Context, p *exec.Cmd, name string) error {
	u, err := c.accounts.person(ctx, name)
	if err != nil {
		return err
	}
	p.Env = append(p.Env, u.environment()...)
	if u.id == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return &startError{fmt.Sprintf("running as user %q needs root", name), fs.ErrPermission}
	}
	credential := &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.gid)}
	for _, g := range u.groups {
		credential.Groups = append(credential.Groups, uint32(g))
	}
	p.SysProcAttr.Credential = credential
	return nil
}

func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

func run(ctx context.Context, p *exec.Cmd, cmd modules.Command, f *commandLog) (modules.Exit, error) {
	stdout, stderr := newOutput(cmd.MaxOutput, cmd.OnLine), newOutput(cmd.MaxOutput, cmd.OnErrorLine)
	p.Stdout, p.Stderr = stdout, stderr
	noted, err := f.take(p)
	if err != nil {
		return modules.Exit{}, err
	}
	defer noted.ended()
	began := time.Now()
	if err := p.Start(); err != nil {
		if ctx.Err() != nil {
			return modules.Exit{}, context.Cause(ctx)
		}
		return modules.Exit{}, &startError{fmt.Sprintf("%q cannot be started: %v", cmd.Argv[0], rooted.Cause(err)), err}
	}
	noted.started(p.Process.Pid)
	err = p.Wait()
	stdout.end()
	stderr.end()
	exit := modules.Exit{
		Code:    code(p.ProcessState),
		Stdout:  stdout.output(),
		Stderr:  stderr.output(),
		Elapsed: time.Since(began),
	}
	return exit, abnormal(ctx, err, cmd)
}

// abnormal filters the error of Wait: a program that ended by itself, with any code, is not an error, nor is one whose
// children still hold its output.
func abnormal(ctx context.Context, err error, cmd modules.Command) error {
	_, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), modules.ErrTimeout):
		return fmt.Errorf("%q %w after %v and was killed", cmd.Argv[0], modules.ErrTimeout, cmd.Timeout)
	case ctx.Err() != nil:
		return fmt.Errorf("%q was killed: %w", cmd.Argv[0], context.Cause(ctx))
	case ended:
		return nil
	}
	return fmt.Errorf("waiting for %q: %w", cmd.Argv[0], err)
}

// code is the exit code, as a shell would give it.
func code(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// startError is the reason why a program was not started. It wraps fs.ErrNotExist for a missing program or directory,
// and fs.ErrPermission for one without permission.
type startError struct {
	msg string
	err error
}

func (e *startError) Error() string { return e.msg }
func (e *startError) Unwrap() error { return e.err }

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return &startError{fmt.Sprintf("working directory %q: %v", dir, rooted.Cause(err)), err}
	case !info.IsDir():
		return &startError{fmt.Sprintf("working directory %q: %v", dir, syscall.ENOTDIR), syscall.ENOTDIR}
	}
	return nil
}

// find looks for the program: a name with a slash is a path from the working
// directory, any other is looked for in the command's own path.
func find(cmd modules.Command) (string, error) {
	name := cmd.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cmd.Dir, name)
		}
		if err := checkProgram(name); err != nil {
			return "", &startError{fmt.Sprintf("%q cannot be started: %v", cmd.Argv[0], rooted.Cause(err)), err}
		}
		return name, nil
	}
	missing := &startError{fmt.Sprintf("%q is not found in %s", name, cmd.Path), fs.ErrNotExist}
	for _, dir := range filepath.SplitList(cmd.Path) {
		program := filepath.Join(dir, name)
		err := checkProgram(program)
		if err == nil {
			return program, nil
		}
		// A program in a directory that may not be searched counts as missing.
		if errors.Is(err, errNotExecutable) {
			missing = &startError{fmt.Sprintf("%q cannot be started: %v", program, rooted.Cause(err)), err}
		}
	}
	return "", missing
}

var errNotExecutable = fmt.Errorf("not executable: %w", fs.ErrPermission)

func checkProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&0o111 == 0:
		return errNotExecutable
	}
	return nil
}

// lookupTimeout bounds a question to a directory service.
const lookupTimeout = 10 * time.Second

// getent looks up an account in the host's name services.
func (c *commands) getent(ctx context.Context, database, key string) string {
	return c.ask(ctx, "getent", database, key)
}

// idGroups looks up the groups of a user outside of local files.
func (c *commands) idGroups(ctx context.Context, name string) string {
	return c.ask(ctx, "id", "-G", name)
}

// ask returns the output of a lookup program, or nothing.
func (c *commands) ask(ctx context.Context, argv ...string) string {
	exit, err := c.start(ctx, modules.Command{Argv: argv, Timeout: lookupTimeout}, nil)
	if err != nil || exit.Code != 0 {
		return ""
	}
	return exit.Stdout.Text
}
