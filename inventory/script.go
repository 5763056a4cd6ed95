package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory/jsonpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// The bounds of a script.
const (
	scriptTime   = 30 * time.Second // of each call
	scriptOutput = 64 << 20         // bytes of each call
	scriptCalls  = 8                // with --host, at once
	stderrKept   = 2 << 10          // bytes, the last ones
)

// isScript reports whether a file is to be run: it says by what (#!), or is
// executable and no text.
func isScript(data []byte, info fs.FileInfo) bool {
	if bytes.HasPrefix(data, []byte("#!")) {
		return true
	}
	return info.Mode().Perm()&0o111 != 0 && bytes.IndexByte(data[:min(len(data), 512)], 0) >= 0
}

// script takes what a script prints. It is asked for the groups with --list, and
// for each host with --host unless the answer has the variables of all hosts.
func (b *builder) script(ctx context.Context, path string) error {
	s := script{path: path, time: scriptTime, output: scriptOutput}
	list, err := s.json(ctx, "--list")
	if err != nil {
		return err
	}
	if list == nil || list.Kind != yamlpos.Map {
		return &yamlpos.Error{File: path + " --list", Msg: "does not print a JSON object", Hint: `print {"GROUP": {"hosts": ["web1"]}, "_meta": {"hostvars": {"web1": {}}}}`}
	}
	listed := b.scriptGroups(list)
	meta := list.Get(metaKey)
	if meta != nil && meta.Kind == yamlpos.Map && meta.Get("hostvars") != nil {
		b.hostVarsOf(listed, meta.Get("hostvars"))
		return nil
	}
	b.askForHosts(ctx, s, listed)
	return nil
}

// askForHosts runs a script once for each host, and takes the answers in the order
// of the hosts.
func (b *builder) askForHosts(ctx context.Context, s script, listed []*yamlpos.Node) {
	answers := make([]*yamlpos.Node, len(listed))
	failures := make([]error, len(listed))
	var g errgroup.Group
	g.SetLimit(scriptCalls)
	for i, key := range listed {
		g.Go(func() error {
			answers[i], failures[i] = s.json(ctx, "--host", key.Text)
			return nil
		})
	}
	_ = g.Wait() // each error is in failures
	for i, key := range listed {
		b.errs.Add(failures[i])
		if failures[i] == nil && answers[i] != nil {
			b.scriptHostVars(key, answers[i])
		}
	}
}

// A script is a program that prints an inventory.
type script struct {
	path   string
	time   time.Duration
	output int // bytes
}

// json runs the script and reads what it prints; it is nil if that is nothing.
func (s script) json(ctx context.Context, args ...string) (*yamlpos.Node, error) {
	out, err := s.run(ctx, args)
	call := s.path + " " + strings.Join(args, " ")
	if err != nil {
		return nil, &yamlpos.Error{File: call, Msg: err.Error()}
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return jsonpos.Parse(call, out)
}

// run starts the script without a shell, in a process group of its own that does
// not outlive it.
func (s script) run(ctx context.Context, args []string) ([]byte, error) {
	path, err := filepath.Abs(s.path) // a bare name would be looked for in PATH
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, done := context.WithTimeoutCause(ctx, s.time, fmt.Errorf("does not end within %s", s.time))
	defer done()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = killGroup
	cmd.WaitDelay = 2 * time.Second
	out := &bounded{limit: s.output, full: func() { cancel(fmt.Errorf("prints more than %d MiB", s.output>>20)) }}
	var said tail
	cmd.Stdout, cmd.Stderr = out, &said
	if err = cmd.Start(); err != nil {
		err = notStarted(err)
	} else {
		err = cmd.Wait()
		_ = killGroup() // whatever it has left behind; mostly there is nothing
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, errors.New(err.Error() + said.text())
	}
	return out.data, nil
}

func notStarted(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return errors.New("is a script that cannot be run: " + err.Error() + "; chmod +x makes it one that can, and without #! it would be read")
	}
	return errors.New("cannot be run: " + err.Error())
}

// bounded keeps what is written to it up to a limit, and then calls full.
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

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if len(*t) > stderrKept {
		*t = slices.Clone((*t)[len(*t)-stderrKept:])
	}
	return len(p), nil
}

// text is what was said, for an error: on one line, without what a terminal
// would obey.
func (t tail) text() string {
	said := strings.TrimSpace(strings.ToValidUTF8(string(t), "?"))
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
