package sealed

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

const (
	// programTimeout is the timeout of a program that sets no other.
	programTimeout = 30 * time.Second
	// maxTimeout is the most that a value may say.
	maxTimeout = 10 * time.Minute
	// maxOutput bounds what a program prints as a secret, in bytes.
	maxOutput = 64 << 10
	// maxStderr limits the part of a program's standard error that is shown, in bytes.
	maxStderr = 400
)

// Programs runs programs for values that are written so:
//
//	password: {secret: {cmd: [vault, kv, get, -field=password, secret/db], timeout: 10s}}
//
// A program is a list of words, which no shell sees. It runs once, however many values name it in the same words. Its
// output is the value, without the final newline. A path with a slash in it is relative to the folder of the file.
type Programs struct {
	// Ask runs a program; see [Ask].
	Ask func(argv []string, timeout time.Duration) (string, error)

	mu    sync.Mutex
	asked map[string]func() (string, error) // by words
}

// Tags implements [Scheme].
func (p *Programs) Tags() []string { return []string{yamlpos.ByProgram} }

// Check implements [Scheme].
func (p *Programs) Check(n *yamlpos.Node) error {
	_, err := questionOf(n)
	return err
}

// Open implements [Scheme].
func (p *Programs) Open(n *yamlpos.Node) (string, error) {
	q, err := questionOf(n)
	if err != nil {
		return "", err
	}
	key := strings.Join(q.argv, "\x00")
	p.mu.Lock()
	ask, known := p.asked[key]
	if !known {
		if p.asked == nil {
			p.asked = map[string]func() (string, error){}
		}
		ask = sync.OnceValues(func() (string, error) { return p.Ask(q.argv, q.timeout) })
		p.asked[key] = ask
	}
	p.mu.Unlock()
	text, err := ask()
	if err != nil {
		return "", n.Errorf("run the program in a terminal; it must print only the secret, and exit with status 0", "the program %q returned no secret: %v", q.argv[0], err)
	}
	return text, nil
}

// IsFile implements [Scheme].
func (p *Programs) IsFile([]byte) bool { return false }

// OpenFile implements [Scheme].
func (p *Programs) OpenFile(string, []byte) ([]byte, error) { panic("sealed: no file is a program's") }

type question struct {
	argv    []string
	timeout time.Duration
}

func questionOf(n *yamlpos.Node) (q question, err error) {
	q.timeout = programTimeout
	var errs yamlpos.Errors
	for _, pair := range n.Sealed.Program.Pairs {
		switch pair.Key.Text {
		case "cmd":
			q.argv, err = words(pair.Value)
		case "timeout":
			q.timeout, err = duration(pair.Value)
		default:
			err = pair.Key.Errorf(`secret: has the keys "cmd" and "timeout"`, "unknown key %q", pair.Key.Text)
		}
		errs.Add(err)
	}
	if len(q.argv) > 0 && strings.Contains(q.argv[0], "/") && !filepath.IsAbs(q.argv[0]) {
		q.argv[0] = "./" + filepath.Join(filepath.Dir(n.File), q.argv[0])
		if filepath.IsAbs(n.File) {
			q.argv[0] = q.argv[0][len("./"):]
		}
	}
	return q, errs.Err()
}

// words reads the program and its arguments. They are texts: nothing is evaluated in them.
func words(n *yamlpos.Node) (argv []string, err error) {
	const hint = "write the program and each argument as a list item, such as cmd: [vault, kv, get, -field=password, secret/db]"
	if n.Kind == yamlpos.List && len(n.Items) == 0 {
		return nil, n.Errorf(hint, `"cmd" is an empty list`)
	}
	if n.Kind != yamlpos.List {
		return nil, n.Errorf(hint, `"cmd" must be a list of words, not %s`, n.Describe())
	}
	for i, item := range n.Items {
		switch {
		case item.Sealed != nil, item.Secret && item.Plain: // everybody can read the words of a process
			return nil, item.Errorf("let the program read it from a file", `a word of "cmd" cannot be a secret`)
		case item.Kind != yamlpos.Scalar || item.Value == nil || i == 0 && item.Text == "":
			return nil, item.Errorf(hint, `a word of "cmd" must be a text, not %s`, item.Describe())
		case strings.Contains(item.Text, "{{"), strings.Contains(item.Text, "${"):
			return nil, item.Errorf("write a fixed text without {{ }} and ${ }", `a word of "cmd" cannot be an expression`)
		case strings.Contains(item.Text, "\x00"):
			return nil, item.Errorf("", `a word of "cmd" has a NUL in it`)
		}
		argv = append(argv, item.Text)
	}
	return argv, nil
}

func duration(n *yamlpos.Node) (time.Duration, error) {
	d, err := time.ParseDuration(n.Text)
	if seconds, isNumber := n.Value.(int64); isNumber {
		d, err = time.Duration(min(seconds, 1<<20))*time.Second, nil
	}
	if n.Kind != yamlpos.Scalar || err != nil || d <= 0 || d > maxTimeout {
		return 0, n.Errorf("write a number of seconds, or a duration such as 30s", `"timeout" must be more than 0, and at most %s`, maxTimeout)
	}
	return d, nil
}

// Ask runs a program with an empty standard input, and returns its output. The end of ctx, and of the timeout, ends its
// whole process group. Errors contain no output, and only the end of its standard error.
func Ask(ctx context.Context, argv []string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %s", timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, stderr := &bounded{most: maxOutput + 2, refuse: true}, &bounded{most: maxStderr}
	cmd.Stdout, cmd.Stderr = out, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	said := ""
	if text := strings.TrimSpace(string(stderr.b)); text != "" {
		said = "; its error output: " + printable.Line(text)
	}
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%w%s", context.Cause(ctx), said)
	case out.more:
		return "", fmt.Errorf("it printed more than %d KiB", maxOutput>>10)
	case err != nil:
		return "", fmt.Errorf("%v%s", err, said) // not wrapped: its exit status is not ours
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(out.b), "\n"), "\r")
	switch {
	case text == "":
		return "", fmt.Errorf("it printed nothing%s", said)
	case !utf8.ValidString(text):
		return "", errors.New("its output is not UTF-8")
	}
	return text, nil
}

// bounded keeps the end of the data written to it; with refuse set, writing more than the limit fails.
type bounded struct {
	b      []byte
	most   int
	refuse bool
	more   bool
}

// Write implements [io.Writer].
func (w *bounded) Write(b []byte) (int, error) {
	w.b = append(w.b, b...)
	if over := len(w.b) - w.most; over > 0 {
		w.more = true
		if w.refuse {
			return 0, syscall.EFBIG
		}
		w.b = w.b[over:]
	}
	return len(b), nil
}
