package start

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// A runner runs the script of [Program] or of [FootprintOf] on a host, as the login user or as the user of an
// escalation, and explains a missing answer.
type runner struct {
	client   *transport.Client
	target   transport.Target
	become   *Become
	nonce    string
	greeting []byte
	limit    time.Duration // how long the host may keep still
	idle     *idleTimeout
	op       string // current step
	again    bool   // the cached build did not start

	// The current process:
	terminal  bool             // the method of escalation reads from nothing else
	responder *promptResponder // nil if there can be no prompt
	noise     string           // output before the greeting, quoted
}

func newRunner(c *transport.Client, r Request) *runner {
	return &runner{
		client: c, target: c.Target(), become: r.Become, nonce: r.Nonce, greeting: r.Greeting,
		limit: cmp.Or(r.Timeout, defaultStartTimeout), op: transport.OpStart,
	}
}

// untilIdle does something with the host, which must move.
func (r *runner) untilIdle(ctx context.Context, do func() error) error {
	ctx, r.idle = withIdleTimeout(ctx, r.limit)
	defer r.idle.stop()
	// Nothing on a channel can be waited for with a deadline: a host that keeps
	// silent is only got rid of with its connection.
	stop := context.AfterFunc(ctx, r.client.HangUp)
	err := do()
	if !stop() {
		return r.late(context.Cause(ctx))
	}
	return err
}

// run runs a command line and waits for the answer of its script, on a terminal
// if the method of escalation takes nothing else.
func (r *runner) run(line string) (*Process, answer, error) {
	p, a, err := r.runOn(line, r.terminal || r.become.needsTerminal())
	if prompts, _, _ := r.responder.asked(); wantsTerminal(err) && prompts == 0 && !r.terminal { // sudoers: requiretty
		r.terminal = true
		p, a, err = r.runOn(line, true)
	}
	return p, a, err
}

func (r *runner) runOn(line string, terminal bool) (*Process, answer, error) {
	r.terminal = terminal
	r.responder = newPromptResponder(r.become, r.nonce)
	p, err := run(r.client, line, terminal, r.watcher())
	if _, none := errors.AsType[transport.NoTerminalError](err); none {
		err = fmt.Errorf("%w: the host refused a terminal, which %s needs: %w", transport.ErrBecome, r.become.method(), err)
		return nil, answer{}, r.failBecome(err, "look for PermitTTY in sshd_config, and for no-pty or restrict in authorized_keys")
	}
	if err != nil {
		return nil, answer{}, r.fail(err, "")
	}
	p.answers = answerReader{nonce: r.nonce, greeting: r.greeting}
	p.tidy = r.tidy
	if r.become != nil {
		r.idle.allow(r.become.timeout())
	}
	a, err := r.listen(p)
	if err != nil {
		return nil, answer{}, err
	}
	return p, a, nil
}

// watcher has the prompt responder answer the prompts of a process that is about to run.
func (r *runner) watcher() func(*Process) io.Writer {
	responder, b := r.responder, r.become
	if responder == nil {
		return nil
	}
	return func(p *Process) io.Writer {
		responder.refuse = p.giveUp
		if b.Password != nil {
			responder.answer = func() {
				r.idle.progress()
				// The message of the method or its exit explains a failed write.
				_, _ = p.Write(append(bytes.Clone(b.Password.Reveal()), '\n'))
			}
		}
		return responder
	}
}

// listen waits for the greeting or for need. Anything else is an error, and
// ends p.
func (r *runner) listen(p *Process) (answer, error) {
	a, err := p.answers.next(p.stdout)
	r.noise = quotedNoise(r.tidy(string(p.answers.noise)))
	if err == nil {
		r.responder.end()
		r.idle.allow(r.limit)
	}
	switch {
	case err != nil:
		err = r.silent(p, err)
		r.responder.end()
	case a.fail != "" && a.os == "":
		err = refused(r.target, r.become, a)
	default:
		p.hello = a.hello
		return a, nil
	}
	p.Close()
	return answer{}, err
}
