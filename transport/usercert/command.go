package usercert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// ByCommand returns an authority that is a command line of the operator, run by a shell with an environment (K=V). The
// command gets the public key on standard input, as a line of authorized_keys, and in a file of a folder of its own.
// The environment describes the certificate:
//
//	CCM_PUSH_KEY_FILE        the file: FOLDER/key.pub
//	CCM_PUSH_KEY_ID          the key id
//	CCM_PUSH_PRINCIPALS      accounts, separated by commas
//	CCM_PUSH_VALID_SECONDS   the validity from now on
//	CCM_PUSH_FORCE_COMMAND   the forced command; empty means none
//	CCM_PUSH_SOURCE_ADDRESS  addresses in the form of source-address; empty means none
//	CCM_PUSH_EXTENSIONS      extensions, separated by commas; empty means none
//
// The command prints the certificate, or writes FOLDER/key-cert.pub, as ssh-keygen -s does.
func ByCommand(line, shell string, env []string) *Authority {
	return &Authority{"the command of the authority", func(ctx context.Context, r Request, _ time.Time) (*ssh.Certificate, error) {
		folder, err := os.MkdirTemp("", "ccm-push-key-") // which has mode 0700
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder)
		text := ssh.MarshalAuthorizedKey(r.Key)
		file := filepath.Join(folder, "key.pub")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		env := append(env[:len(env):len(env)], r.environment(file)...)
		printed, err := runCommand(ctx, line, shell, env, text)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(printed)) == 0 {
			printed, err = os.ReadFile(filepath.Join(folder, "key-cert.pub"))
			if errors.Is(err, fs.ErrNotExist) {
				err = errors.New("it has printed nothing, and written no key-cert.pub next to $CCM_PUSH_KEY_FILE")
			}
			if err != nil {
				return nil, err
			}
		}
		return parse(printed)
	}}
}

func (r Request) environment(file string) []string {
	return []string{
		"CCM_PUSH_KEY_FILE=" + file,
		"CCM_PUSH_KEY_ID=" + r.ID,
		"CCM_PUSH_PRINCIPALS=" + strings.Join(r.Principals, ","),
		"CCM_PUSH_VALID_SECONDS=" + strconv.Itoa(int(r.ValidFor/time.Second)),
		"CCM_PUSH_FORCE_COMMAND=" + r.ForceCommand,
		"CCM_PUSH_SOURCE_ADDRESS=" + r.sources(),
		"CCM_PUSH_EXTENSIONS=" + strings.Join(r.Extensions, ","),
	}
}

const (
	// commandTime limits a command, which may wait for a person or a server.
	commandTime = 2 * time.Minute
	// maxPrinted bounds the output of a command, in bytes.
	maxPrinted = 64 << 10
)

// runCommand returns the output of a command line.
func runCommand(ctx context.Context, line, shell string, env []string, input []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("it took longer than %s", commandTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.Env, cmd.Stdin = env, bytes.NewReader(input)
	var printed bytes.Buffer
	said := transport.NewStderr()
	cmd.Stdout, cmd.Stderr = &printed, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		if last := transport.LastLine(said.String()); last != "" {
			return nil, fmt.Errorf("%w: it last wrote %q", err, last)
		}
		return nil, err
	case printed.Len() > maxPrinted:
		return nil, fmt.Errorf("it printed more than %d KiB", maxPrinted>>10)
	}
	return printed.Bytes(), nil
}

// parse reads a certificate as ssh-keygen -s writes it.
func parse(text []byte) (*ssh.Certificate, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("its output is not a certificate: %.100q", text)
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return nil, errors.New("its output is a public key, not a certificate")
	}
	return cert, nil
}
