package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Build is the host program for one kind of system.
type Build struct {
	OS, Arch   string // Go's names: linux, amd64
	SHA256     string // of the program, in lower-case hex
	Size       int64  // of the program, in bytes
	Compressed []byte // the program, in gzip
}

// A Start says how to start the host program.
type Start struct {
	Nonce string // letters and digits; must differ for every start
	// Greeting is how the module's first line begins. Whatever else the host
	// prints before it is skipped.
	Greeting []byte
	Facts    string // an argument of the module: collector names separated by commas, or "-"
	Builds   []Build
	Become   *Become // nil runs it as the login user
	// Timeout is how long the host may take until the greeting. The upload does
	// not count, but must move within it. 0 means 30s.
	Timeout time.Duration
}

// Become is how to run as another user.
type Become struct {
	Method string // "sudo", also if empty
	User   string // "" is root
}

func (b *Become) user() string { return cmp.Or(b.User, "root") }

const defaultStartTimeout = 30 * time.Second

var (
	nonceForm  = regexp.MustCompile(`^[A-Za-z0-9]{8,64}$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func (s Start) validate() error {
	switch {
	case !nonceForm.MatchString(s.Nonce):
		return fmt.Errorf("nonce %q is not 8 to 64 letters and digits", s.Nonce)
	case len(s.Greeting) == 0:
		return errors.New("no greeting to wait for")
	case s.Become != nil && s.Become.Method != "" && s.Become.Method != "sudo":
		return fmt.Errorf("escalation method %q is not known; only sudo is", s.Become.Method)
	}
	for _, b := range s.Builds {
		if !digestForm.MatchString(b.SHA256) {
			return fmt.Errorf("build %s/%s: %q is not a SHA-256 in hex", b.OS, b.Arch, b.SHA256)
		}
	}
	return nil
}

// StartModule runs the host program and returns when it has sent its greeting.
// A host that has no fitting copy of it yet gets one first. Every error is a
// [HostError]; the connection is closed if the host did not answer in time or
// ctx ended.
func (c *Client) StartModule(ctx context.Context, s Start) (*Process, error) {
	if err := s.validate(); err != nil {
		return nil, c.target.fail(opStart, err, "")
	}
	p := newPatience(ctx, cmp.Or(s.Timeout, defaultStartTimeout))
	defer p.stop()
	st := &starter{client: c, start: s, patience: p}
	// Nothing on a channel can be waited for with a deadline: a host that keeps
	// silent is only got rid of with its connection.
	stop := context.AfterFunc(p.ctx, func() { c.ssh.Close() })
	process, err := st.run()
	if !stop() {
		return nil, c.target.fail(st.op, context.Cause(p.ctx), st.noiseHint())
	}
	return process, err
}

// A starter is one StartModule.
type starter struct {
	client   *Client
	start    Start
	patience *patience
	op       string // the step that is going on
	noise    string // what was printed before the greeting, quoted
}

func (st *starter) run() (*Process, error) {
	st.op = opStart
	mode := modeExit
	if st.start.Become != nil {
		mode = modeWait
	}
	p, a, err := st.exec(mode)
	if err != nil || a.hello != nil {
		return p, err
	}
	build, err := st.build(a)
	if err != nil {
		p.Close()
		return nil, err
	}
	st.op = opInstall
	if mode == modeExit {
		p.Close()
		if p, a, err = st.installBySFTP(build); err != nil || a.hello != nil {
			return p, err
		}
	}
	return st.installByStdin(p, build)
}

// installBySFTP uploads the build and runs the script again. It also does that
// if the upload has failed: the script then still needs the build.
func (st *starter) installBySFTP(b Build) (*Process, answer, error) {
	uploadErr := st.client.upload(b, st.start.Nonce, st.patience.progress)
	st.patience.progress()
	if st.patience.ctx.Err() != nil {
		return nil, answer{}, st.client.target.fail(opInstall, uploadErr, "")
	}
	p, a, err := st.exec(modeWait)
	if err == nil {
		p.Uploaded = uploadErr == nil
	}
	return p, a, err
}

// installByStdin sends the build to a script that waits for it.
func (st *starter) installByStdin(p *Process, b Build) (*Process, error) {
	// A failed write is explained by what the script says, or by its exit.
	_ = st.patience.write(p, b.Compressed)
	st.patience.progress()
	a, err := st.listen(p)
	if err == nil && a.hello == nil {
		p.Close()
		err = st.client.target.fail(opInstall, fmt.Errorf("%w: the host asked for its build again", errInstall), "")
	}
	if err != nil {
		return nil, err
	}
	p.Uploaded = true
	return p, nil
}

// exec runs the script and waits for its answer.
func (st *starter) exec(mode string) (*Process, answer, error) {
	fail := func(err error) error { return st.client.target.fail(st.op, err, "") }
	line, err := commandLine(st.start, mode)
	if err != nil {
		return nil, answer{}, fail(err)
	}
	p, err := st.client.exec(line)
	if err != nil {
		return nil, answer{}, fail(err)
	}
	p.heard = hearing{nonce: st.start.Nonce, greeting: st.start.Greeting}
	a, err := st.listen(p)
	if err != nil {
		return nil, answer{}, err
	}
	return p, a, nil
}

// listen waits for the greeting or for need. Anything else is an error, and
// ends p.
func (st *starter) listen(p *Process) (answer, error) {
	a, err := p.heard.next(p.stdout)
	st.noise = p.heard.quoted()
	switch {
	case err != nil:
		err = st.silent(p, err)
	case a.fail != "":
		err = st.refused(a)
	default:
		p.hello = a.hello
		return a, nil
	}
	p.Close()
	return answer{}, err
}

// build finds what the host needs.
func (st *starter) build(a answer) (Build, error) {
	var known []string
	for _, b := range st.start.Builds {
		if b.OS == a.os && b.Arch == a.arch {
			return b, nil
		}
		known = append(known, b.OS+"/"+b.Arch)
	}
	slices.Sort(known)
	err := fmt.Errorf("%w: it is %q", ErrNoBuild, a.os+"/"+a.arch)
	return Build{}, st.client.target.fail(opInstall, err, "there are builds for "+strings.Join(known, ", "))
}

// refused turns a fail line into an error.
func (st *starter) refused(a answer) error {
	var err error
	var hint string
	switch a.fail {
	case failNoSpace:
		err, hint = ErrNoSpace, "about 10 MB are needed"
	case failNoExec:
		err = fmt.Errorf("%w: every directory that could hold it is mounted noexec", errInstall)
		hint = "make ~/.cache/ccm-push, /var/tmp or /tmp a place where programs can be executed"
	case failNoDir:
		err = fmt.Errorf("%w: no directory can hold it", errInstall)
		hint = "~/.cache/ccm-push, /var/tmp/ccm-push-UID or /tmp/ccm-push-UID must be a directory of the user with mode 0700, or one that the user can make"
	case failNoGzip:
		err = fmt.Errorf("%w: gzip is missing on the host", errInstall)
	case failUnpack:
		err = fmt.Errorf("%w: gzip could not unpack it", errInstall)
	case failHash:
		err = fmt.Errorf("%w: what arrived has another SHA-256", errInstall)
	default:
		err = fmt.Errorf("%w: %q", errInstall, a.fail)
	}
	if a.dir != "" {
		err = fmt.Errorf("%w (last tried %q)", err, a.dir)
	}
	return st.client.target.fail(opInstall, err, hint)
}

// silent explains why nothing that we know was said: heard is the error of
// reading it.
func (st *starter) silent(p *Process, heard error) error {
	t := st.client.target
	if !errors.Is(heard, errEnded) {
		return t.fail(st.op, fmt.Errorf("%w: %w", ErrNotModule, heard), st.noiseHint())
	}
	err := p.Wait()
	exit, _ := errors.AsType[*ExitError](err)
	if exit != nil && st.start.Become != nil {
		if line, hint := st.start.Become.refusal(exit, t.User); line != "" {
			return t.fail(opBecome, fmt.Errorf("%w: %s", ErrBecome, line), hint)
		}
	}
	if err == nil {
		err = errors.New("it exited with 0")
	}
	return t.fail(st.op, fmt.Errorf("%w: %w", ErrNotModule, err), st.noiseHint())
}

func (st *starter) noiseHint() string {
	if st.noise == "" {
		return ""
	}
	return "the login shell printed " + st.noise
}

// refusal recognises what sudo says when it does not start a program. sudo is
// translated, but its name is not.
func (b *Become) refusal(exit *ExitError, user string) (line, hint string) {
	for l := range strings.Lines(exit.Stderr) {
		l = strings.TrimSpace(l)
		switch {
		case line != "": // the first one has the cause
		case strings.HasPrefix(l, "sudo: "), strings.Contains(l, "sudoers"), strings.HasPrefix(l, "Sorry, user"):
			line = l
		case exit.Code == 127 && strings.Contains(l, "sudo"):
			return l, "install sudo on the host, or connect as " + b.user()
		}
	}
	if line == "" {
		return "", ""
	}
	return line, fmt.Sprintf("let %s run commands as %s without a password and without a terminal (sudoers: NOPASSWD, !requiretty)", user, b.user())
}
