package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// A Script is a program that prints an inventory.
type Script struct {
	Path string // relative to the working directory; never looked for in PATH
	// Timeout and MaxBytes bound each call: how long it takes, and how much it
	// prints. 0 means 30s and 64 MiB.
	Timeout  time.Duration
	MaxBytes int
}

// scriptCalls is the number of calls with --host that run at once.
const scriptCalls = 8

// List requests the groups: a map. Its nodes have the file name "PATH --list".
func (s Script) List(ctx context.Context) (*yamlpos.Node, error) {
	list, err := s.json(ctx, "--list")
	if err != nil {
		return nil, err
	}
	if list == nil || list.Kind != yamlpos.Map {
		return nil, &yamlpos.Error{File: s.Path + " --list", Msg: "does not print a JSON object", Hint: `print {"GROUP": {"hosts": ["web1"]}, "_meta": {"hostvars": {"web1": {}}}}`}
	}
	return list, nil
}

// A ScriptAnswer is the output of a script for one host, or its error. Vars is nil if it prints nothing.
type ScriptAnswer struct {
	Vars *yamlpos.Node
	Err  error
}

// Hosts requests the variables of each host, several at once. The answers are in the order of the hosts.
func (s Script) Hosts(ctx context.Context, hosts []string) []ScriptAnswer {
	answers := make([]ScriptAnswer, len(hosts))
	var g errgroup.Group
	g.SetLimit(scriptCalls)
	for i, host := range hosts {
		g.Go(func() error {
			answers[i].Vars, answers[i].Err = s.json(ctx, "--host", host)
			return nil
		})
	}
	_ = g.Wait() // each error is in its answer
	return answers
}

// json runs the script and parses its output; nil if it prints nothing.
func (s Script) json(ctx context.Context, args ...string) (*yamlpos.Node, error) {
	out, err := s.run(ctx, args)
	call := s.Path + " " + strings.Join(args, " ")
	if err != nil {
		return nil, &yamlpos.Error{File: call, Msg: err.Error()}
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return yamlpos.ParseJSON(call, out)
}

// The bounds of a call.
const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 64 << 20
	stderrKept      = 2 << 10 // bytes
)

// run starts the script without a shell, in a process group of its own that does
// not outlive it.
func (s Script) run(ctx context.Context, args []string) ([]byte, error) {
	path, err := filepath.Abs(s.Path) // a bare name would be looked for in PATH
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout, limit := cmp.Or(s.Timeout, defaultTimeout), cmp.Or(s.MaxBytes, defaultMaxBytes)
	ctx, done := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("does not end within %s", timeout))
	defer done()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = killGroup
	cmd.WaitDelay = 2 * time.Second
	out := &bounded{limit: limit, full: func() { cancel(fmt.Errorf("prints more than %d MiB", limit>>20)) }}
	said := excerpt.Writer{Most: stderrKept}
	cmd.Stdout, cmd.Stderr = out, &said
	if err = cmd.Start(); err != nil {
		err = notStarted(err)
	} else {
		if err = cmd.Wait(); err != nil {
			err = fmt.Errorf("the inventory script failed: %w", err)
		}
		_ = killGroup() // ends leftover processes; usually there are none
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, errors.New(err.Error() + evidence(said.String()))
	}
	return out.data, nil
}

func notStarted(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return errors.New("is a script that cannot be run: " + err.Error() + "; make it executable with chmod +x, or remove its #! line if it is not a script")
	}
	return errors.New("cannot be run: " + err.Error())
}

// bounded keeps the data written to it up to a limit, and then calls full.
type bounded struct {
	data  []byte
	limit int
	full  func()
}

func (w *bounded) Write(p []byte) (int, error) {
	if len(w.data)+len(p) > w.limit {
		w.full()
		return 0, errors.New("too much")
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

// evidence returns the script's standard error for an error message: on one line, without characters that a terminal
// would obey.
func evidence(text string) string {
	said := strings.TrimSpace(strings.ToValidUTF8(text, "?"))
	if said == "" {
		return ""
	}
	said = strings.ReplaceAll(said, "\n", " | ")
	return ": " + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, said)
}
