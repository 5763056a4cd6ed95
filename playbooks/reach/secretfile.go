package reach

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

	"github.com/ccm-push/ccm-push/transport"
)

const (
	// maxPassword is far above the size of any password, in bytes.
	maxPassword = 64 << 10
	// programTimeout limits a program that prints a password: it may prompt a person.
	programTimeout = 2 * time.Minute
)

// read reads the password in a file, or the password that a program prints. It keeps all bytes except a newline at the
// end.
func (s SecretSources) read(ctx context.Context, flag, path string) (*transport.Secret, error) {
	text, err := s.text(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, err)
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	switch {
	case len(text) == 0:
		err = errors.New("the file contains no password")
	case len(text) >= maxPassword:
		err = fmt.Errorf("more than %d KiB are not a password", maxPassword>>10)
	case bytes.ContainsAny(text, "\r\n"):
		err = errors.New("there is more than one line in it")
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, err)
	}
	return transport.NewSecret(text), nil
}

// text returns the content of a file or, if it is a program, its output with arguments.
func (s SecretSources) text(ctx context.Context, path string, arguments ...string) ([]byte, error) {
	if path == "-" {
		return nil, errors.New("a name is wanted; /dev/stdin is one")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(s.Home, rest)
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
		return runProgram(ctx, path, s.Stderr, arguments...)
	case mode.IsRegular() && mode.Perm()&0o077 != 0:
		return nil, fmt.Errorf("its mode %04o lets others at it; chmod 600 %s", mode.Perm(), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutName(err)
	}
	defer f.Close()
	// The end of ctx ends a read from a pipe without a writer.
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(io.LimitReader(f, maxPassword+2))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return text, withoutName(err)
}

// trustedOwner reports whether a file belongs to root or to the user of this process.
func trustedOwner(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// runProgram returns the output of a program, as Ansible does with executable password files. The program may prompt on
// the terminal.
func runProgram(ctx context.Context, path string, stderr io.Writer, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, programTimeout, fmt.Errorf("it took longer than %s", programTimeout))
	defer cancel()
	if !strings.Contains(path, "/") {
		path = "./" + path
	}
	cmd := exec.CommandContext(ctx, path, arguments...)
	var out boundedOutput
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

// boundedOutput is the output of a program, no longer than a password may be.
type boundedOutput struct{ b []byte }

// Write implements [io.Writer].
func (w *boundedOutput) Write(b []byte) (int, error) {
	if w.b = append(w.b, b...); len(w.b) > maxPassword+2 {
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
