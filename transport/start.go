package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Build is the host program for one kind of system.
type Build struct {
	OS, Arch string // Go's names: linux, amd64
	SHA256   string // of the program, in lower-case hex
	Size     int64  // of the program, in bytes
	// Compressed gives the program in gzip: CompressedSize bytes with the SHA-256
	// CompressedSHA256, in lower-case hex. It is asked only when a host lacks the
	// program, and may be asked by several goroutines at once.
	Compressed       func() ([]byte, error)
	CompressedSize   int64
	CompressedSHA256 string
}

// header goes before the build to a script that waits for it.
func (b Build) header() string { return fmt.Sprintf("%d %s\n", b.CompressedSize, b.CompressedSHA256) }

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

const defaultStartTimeout = 30 * time.Second

func (s Start) validate() error {
	switch {
	case !isNonce(s.Nonce):
		return fmt.Errorf("nonce %q is not 8 to 64 letters and digits", s.Nonce)
	case len(s.Greeting) == 0:
		return errors.New("no greeting to wait for")
	}
	if err := s.Become.validate(); err != nil {
		return err
	}
	for _, b := range s.Builds {
		for _, sum := range []string{b.SHA256, b.CompressedSHA256} {
			if !isDigest(sum) {
				return fmt.Errorf("build %s/%s: %q is not a SHA-256 in hex", b.OS, b.Arch, sum)
			}
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
	st := &starter{client: c, start: s, op: opStart}
	var process *Process
	err := st.patiently(ctx, func() (err error) {
		process, err = st.run()
		return err
	})
	if err != nil {
		return nil, err
	}
	return process, nil
}

// patiently does something with the host that must move.
func (st *starter) patiently(ctx context.Context, do func() error) error {
	st.patience = newPatience(ctx, st.limit())
	defer st.patience.stop()
	// Nothing on a channel can be waited for with a deadline: a host that keeps
	// silent is only got rid of with its connection.
	stop := context.AfterFunc(st.patience.ctx, st.client.hangUp)
	err := do()
	if !stop() {
		return st.late(context.Cause(st.patience.ctx))
	}
	return err
}

// A starter is one StartModule.
type starter struct {
	client   *Client
	start    Start
	patience *patience
	op       string // the step that is going on
	again    bool   // what was cached did not start
	terminal bool   // the method of escalation reads from nothing else
	asker    *asker // of the script that runs; nil if nothing can be asked
	noise    string // what was printed before the greeting, quoted
}

func (st *starter) limit() time.Duration { return cmp.Or(st.start.Timeout, defaultStartTimeout) }

func (st *starter) run() (*Process, error) {
	mode := modePlain
	if st.start.Become != nil {
		mode = modeBegin
	}
	p, a, err := st.exec(mode)
	if died(err) {
		st.again = true
		p, a, err = st.exec(modeAgain)
	}
	if err != nil || a.hello != nil {
		return p, err
	}
	build, err := st.build(a)
	if err != nil {
		p.Close()
		return nil, err
	}
	st.op = opInstall
	if a.fail == failNoGzip {
		p.Close()
		return st.installUnpacked(a, build)
	}
	return st.install(p, build)
}

// died reports whether a copy of the build has probably been started that is not
// what it was: each start looks at owner, mode and size, since a hash would cost
// more than all the rest. A shell that cannot execute a file ends with 126 or,
// having taken it for a script, with 2 or 127; a broken program by a signal. The
// 0 and 1 of profiles that exit and of nologin are not worth another try.
func died(err error) bool {
	exit, ok := errors.AsType[*ExitError](err)
	return ok && (exit.Code > 1 || exit.Signal != "")
}

// install sends the build to a script that waits for it. It goes over the standard
// input of the script: nothing has to be opened for it, or to be asked for again, and
// whoever the program is to run as has the only copy.
func (st *starter) install(p *Process, b Build) (*Process, error) {
	compressed, err := b.Compressed()
	if err != nil {
		p.Close()
		return nil, st.client.target.fail(opInstall, err, "")
	}
	// A failed write is explained by what the script says, or by its exit.
	_ = st.patience.write(p, b.header(), compressed)
	// A jump host may have taken what the host is still waiting for.
	st.patience.allow(st.limit() * time.Duration(1+b.CompressedSize>>20))
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

// installUnpacked puts the build over SFTP onto a host that cannot unpack it, and runs
// the script again. It is only for the login user: a copy of his could be swapped by
// him before somebody else, such as root, executes it.
func (st *starter) installUnpacked(a answer, b Build) (*Process, error) {
	dir, known := uploadDir(a.dir)
	if st.start.Become != nil || st.client.local != nil || !known {
		return nil, st.refused(a)
	}
	err := st.client.upload(dir, b, st.start.Nonce, st.patience.progress)
	switch {
	case errors.Is(err, ErrNoSpace):
		return nil, st.refused(answer{fail: failNoSpace, dir: a.dir})
	case errors.Is(err, errInstall):
		return nil, st.client.target.fail(opInstall, err, hintGzip)
	case err != nil:
		return nil, st.client.target.fail(opInstall, err, "")
	}
	st.patience.allow(st.limit())
	p, a, err := st.exec(modeSent)
	if err != nil {
		return nil, err
	}
	if a.hello == nil { // SFTP begins elsewhere, say
		p.Close()
		err := fmt.Errorf("%w: gzip is missing on the host, and what was sent by SFTP is not where the host looks for it", errInstall)
		return nil, st.client.target.fail(opInstall, err, hintGzip)
	}
	p.Uploaded = true
	return p, nil
}

// exec runs the script and waits for its answer.
func (st *starter) exec(mode string) (*Process, answer, error) {
	line, err := commandLine(st.start, mode)
	if err != nil {
		return nil, answer{}, st.client.target.fail(st.op, err, "")
	}
	return st.execLine(line)
}

// execLine runs a command line and waits for the answer of its script, on a terminal
// if the method of escalation takes nothing else.
func (st *starter) execLine(line string) (*Process, answer, error) {
	p, a, err := st.execOn(line, st.terminal || st.start.Become.needsTerminal())
	if prompts, _ := st.asker.asked(); wantsTerminal(err) && prompts == 0 && !st.terminal { // sudoers: requiretty
		st.terminal = true
		p, a, err = st.execOn(line, true)
	}
	return p, a, err
}

func (st *starter) execOn(line string, terminal bool) (*Process, answer, error) {
	st.terminal = terminal
	p, err := st.escalate(line)
	if _, none := errors.AsType[noTerminalError](err); none {
		err = fmt.Errorf("%w: the host gives us no terminal, which %s wants: %w", ErrBecome, st.start.Become.method(), err)
		return nil, answer{}, st.client.target.fail(opBecome, err, "look for PermitTTY in sshd_config, and for no-pty or restrict in authorized_keys")
	}
	if err != nil {
		return nil, answer{}, st.client.target.fail(st.op, err, "")
	}
	a, err := st.listen(p)
	if err != nil {
		return nil, answer{}, err
	}
	return p, a, nil
}

// escalate runs a command line that may lead to a prompt.
func (st *starter) escalate(line string) (*Process, error) {
	b := st.start.Become
	st.asker = newAsker(b, st.start.Nonce)
	p, err := st.client.exec(line, st.terminal, st.watcher())
	if err != nil {
		return nil, err
	}
	p.heard = hearing{nonce: st.start.Nonce, greeting: st.start.Greeting}
	p.tidy = st.tidy
	if b != nil {
		st.patience.allow(b.timeout())
	}
	return p, nil
}

// watcher has the asker answer the prompts of a process that is about to run.
func (st *starter) watcher() func(*Process) io.Writer {
	a, b := st.asker, st.start.Become
	if a == nil {
		return nil
	}
	return func(p *Process) io.Writer {
		a.refuse = p.giveUp
		if b.Password != nil {
			a.answer = func() {
				st.patience.progress()
				// A failed write is explained by what the method says, or by its exit.
				_, _ = p.Write(append(bytes.Clone(b.Password.Reveal()), '\n'))
			}
		}
		return a
	}
}

// listen waits for the greeting or for need. Anything else is an error, and
// ends p.
func (st *starter) listen(p *Process) (answer, error) {
	a, err := p.heard.next(p.stdout)
	st.noise = quotedNoise(st.tidy(string(p.heard.noise)))
	if err == nil {
		st.asker.end()
		st.patience.allow(st.limit())
	}
	switch {
	case err != nil:
		err = st.silent(p, err)
		st.asker.end()
	case a.fail != "" && a.os == "":
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
