package start

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/transport"
)

// One run of a script: the command line, the prompts of the escalation, and the first
// answer.

// exec runs the script and waits for its answer.
func (st *starter) exec(mode string) (*Process, answer, error) {
	line, err := commandLine(st.request, mode)
	if err != nil {
		return nil, answer{}, st.target().Fail(st.op, err, "")
	}
	return st.execLine(line)
}

// execLine runs a command line and waits for the answer of its script, on a terminal
// if the method of escalation takes nothing else.
func (st *starter) execLine(line string) (*Process, answer, error) {
	p, a, err := st.execOn(line, st.terminal || st.request.Become.needsTerminal())
	if prompts, _ := st.responder.asked(); wantsTerminal(err) && prompts == 0 && !st.terminal { // sudoers: requiretty
		st.terminal = true
		p, a, err = st.execOn(line, true)
	}
	return p, a, err
}

func (st *starter) execOn(line string, terminal bool) (*Process, answer, error) {
	st.terminal = terminal
	p, err := st.escalate(line)
	if _, none := errors.AsType[transport.NoTerminalError](err); none {
		err = fmt.Errorf("%w: the host gives us no terminal, which %s wants: %w", transport.ErrBecome, st.request.Become.method(), err)
		return nil, answer{}, st.target().Fail(transport.OpBecome, err, "look for PermitTTY in sshd_config, and for no-pty or restrict in authorized_keys")
	}
	if err != nil {
		return nil, answer{}, st.target().Fail(st.op, err, "")
	}
	a, err := st.listen(p)
	if err != nil {
		return nil, answer{}, err
	}
	return p, a, nil
}

// escalate runs a command line that may lead to a prompt.
func (st *starter) escalate(line string) (*Process, error) {
	b := st.request.Become
	st.responder = newPromptResponder(b, st.request.Nonce)
	p, err := run(st.client, line, st.terminal, st.watcher())
	if err != nil {
		return nil, err
	}
	p.answers = answerReader{nonce: st.request.Nonce, greeting: st.request.Greeting}
	p.tidy = st.tidy
	if b != nil {
		st.idle.allow(b.timeout())
	}
	return p, nil
}

// watcher has the prompt responder answer the prompts of a process that is about to run.
func (st *starter) watcher() func(*Process) io.Writer {
	a, b := st.responder, st.request.Become
	if a == nil {
		return nil
	}
	return func(p *Process) io.Writer {
		a.refuse = p.giveUp
		if b.Password != nil {
			a.answer = func() {
				st.idle.progress()
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
	a, err := p.answers.next(p.stdout)
	st.noise = quotedNoise(st.tidy(string(p.answers.noise)))
	if err == nil {
		st.responder.end()
		st.idle.allow(st.limit())
	}
	switch {
	case err != nil:
		err = st.silent(p, err)
		st.responder.end()
	case a.fail != "" && a.os == "":
		err = st.refused(a)
	default:
		p.hello = a.hello
		return a, nil
	}
	p.Close()
	return answer{}, err
}
