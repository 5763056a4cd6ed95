package start

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// Why a host program has not started, and what to do about it.

// hintGzip is for a host that can neither unpack the program nor be given it unpacked.
const hintGzip = "install gzip on the host"

// refused turns a fail line into an error.
func (st *starter) refused(a answer) error {
	var err error
	var hint string
	switch a.fail {
	case failNoSpace:
		err, hint = transport.ErrNoSpace, "about 10 MB are needed in ~/.cache/ccm-push, /var/tmp or /tmp"
	case failNoExec:
		err = fmt.Errorf("%w: every directory that could hold it is mounted noexec", transport.ErrInstall)
		hint = "make ~/.cache/ccm-push, /var/tmp or /tmp a place where programs can be executed"
	case failNoWrite:
		err = fmt.Errorf("%w: no directory can hold it, and one is on a read-only file system", transport.ErrInstall)
		hint = "~/.cache/ccm-push, /var/tmp or /tmp must be a place where the user can write"
	case failNoDir:
		err = fmt.Errorf("%w: no directory can hold it", transport.ErrInstall)
		hint = "~/.cache/ccm-push, /var/tmp/ccm-push-UID or /tmp/ccm-push-UID must be a directory of the user with mode 0700, or one that the user can make"
	case failNoGzip:
		err, hint = fmt.Errorf("%w: gzip is missing on the host", transport.ErrInstall), hintGzip
	case failUnpack:
		err = fmt.Errorf("%w: gzip could not unpack it", transport.ErrInstall)
	case failHash:
		err = fmt.Errorf("%w: what arrived has another SHA-256", transport.ErrInstall)
	default:
		err = fmt.Errorf("%w: %q", transport.ErrInstall, a.fail)
	}
	if a.dir != "" {
		err = fmt.Errorf("%w (last tried %q)", err, a.dir)
	}
	return st.target().Fail(transport.OpInstall, err, hint)
}

// silent explains why nothing that we know was said: heard is the error of
// reading it.
func (st *starter) silent(p *Process, heard error) error {
	t := st.target()
	if !errors.Is(heard, errEnded) {
		return t.Fail(st.op, fmt.Errorf("%w: %w", transport.ErrNotModule, heard), st.noiseHint())
	}
	prompts, unanswered := st.responder.asked()
	if unanswered {
		return st.unanswered(p, prompts)
	}
	err := p.Wait() // until then standard error may have more to say
	if prompts, unanswered = st.responder.asked(); unanswered {
		return st.unanswered(p, prompts)
	}
	exit, _ := errors.AsType[*transport.ExitError](err)
	if exit != nil && st.request.Become != nil {
		said, refused := st.said(p)
		exit.Stderr = st.tidy(said)
		if line, hint := st.request.Become.refusal(exit, said, prompts > 0, t.User); refused && line != "" {
			return t.Fail(transport.OpBecome, fmt.Errorf("%w: %s", transport.ErrBecome, line), hint)
		}
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	if st.again && st.op == transport.OpInstall {
		return t.Fail(st.op, fmt.Errorf("%w, nor when it was sent again: %w", transport.ErrNotModule, err), st.silentHint(err))
	}
	return t.Fail(st.op, fmt.Errorf("%w: %w", transport.ErrNotModule, err), st.silentHint(err))
}

// unanswered explains a prompt that there was no answer to: the password is wrong,
// or there is none.
func (st *starter) unanswered(p *Process, prompts int) error {
	b, t := st.request.Become, st.target()
	if prompts > 1 {
		err := fmt.Errorf("%w: %s asked for the password again", transport.ErrBecome, b.method())
		return t.Fail(transport.OpBecome, err, "is it the password of "+b.owner(t.User)+" on this host?")
	}
	return t.Fail(transport.OpBecome, fmt.Errorf("%w: %s asks for a password", transport.ErrBecome, b.method()), b.passwordHint(t.User))
}

// said is what the method of escalation has printed, and whether it can be why that
// has run nothing; or else it is what the script has printed.
func (st *starter) said(p *Process) (text string, refused bool) {
	text = p.stderr.String()
	if st.terminal {
		text = string(p.answers.noise)
	}
	if _, after, found := strings.Cut(text, begun(st.request.Nonce)); found {
		return after, false
	}
	if _, after, found := strings.Cut(text, announced+st.request.Nonce); found {
		text = after
	}
	return strings.ReplaceAll(text, sudoAsks(st.request.Nonce), "\n"), true
}

// tidy leaves out of what a host has printed what we had it print, and the password.
func (st *starter) tidy(text string) string {
	n := st.request.Nonce
	text = strings.NewReplacer(begun(n)+"\n", "", announced+n+"\n", "", sudoAsks(n), "").Replace(text)
	return st.request.Become.withoutPassword(text)
}

// wantsTerminal recognises a method that does not even ask without a terminal.
func wantsTerminal(err error) bool {
	return err != nil && errors.Is(err, transport.ErrBecome) && noTerminal().MatchString(err.Error())
}

// late explains why a host has not answered in time; cause may also be that the run has
// been stopped.
func (st *starter) late(cause error) error {
	t := st.target()
	if !errors.Is(cause, transport.ErrTimeout) {
		return t.Fail(st.op, cause, st.noiseHint())
	}
	b := st.request.Become
	prompts, _ := st.responder.asked()
	switch {
	case b != nil && prompts > 0 && st.op == transport.OpStart:
		return t.Fail(transport.OpBecome, fmt.Errorf("%w: %s has the password, and says nothing", cause, b.method()), "does PAM wait for a server that does not answer?")
	case st.op == transport.OpStart && st.atSu():
		return t.Fail(st.op, cause, st.afterNoise("su asks for nothing: does PAM wait for a server that does not answer, or has "+b.user()+" no shell that runs commands?"))
	case st.op == transport.OpStart:
		return t.Fail(st.op, cause, st.shellHint())
	}
	return t.Fail(st.op, cause, st.noiseHint())
}

// silentHint says where to look after a process that has said nothing.
func (st *starter) silentHint(err error) string {
	exit, _ := errors.AsType[*transport.ExitError](err)
	const notExecutable = 126 // as shells have it
	switch {
	case errors.Is(err, transport.ErrLost):
		return st.noiseHint()
	case exit != nil && exit.Code == notExecutable:
		return "the host does not execute it: is its directory mounted noexec, or does a policy forbid it (SELinux, fapolicyd)?"
	case exit != nil && exit.Signal == "KILL":
		return "has the host run out of memory?"
	case exit != nil && exit.Signal != "":
		return ""
	}
	return st.shellHint()
}

// shellHint is for what seems to have ended before the module was reached.
func (st *starter) shellHint() string {
	if st.target().Local && st.request.Become == nil {
		return st.noiseHint()
	}
	if st.atSu() {
		return st.afterNoise("does " + st.request.Become.user() + " have a shell that runs commands? su needs one, sudo and doas do not")
	}
	try := "does the login get a shell that runs commands, or does sshd run something else (ForceCommand, command= in authorized_keys)? try: " + st.target().SSHCommand() + " echo ok"
	return st.afterNoise(try)
}

// atSu reports whether su was run: what fails before it is up to the login shell.
func (st *starter) atSu() bool {
	b := st.request.Become
	return b != nil && b.method() == methodSu && st.responder.reached()
}

// afterNoise is a hint behind what the host has printed meanwhile.
func (st *starter) afterNoise(hint string) string {
	if noise := st.noiseHint(); noise != "" {
		return noise + "; " + hint
	}
	return hint
}

func (st *starter) noiseHint() string {
	if st.noise == "" {
		return ""
	}
	who := "the login shell"
	if st.atSu() {
		who = "the host" // it may be of su, or of what that runs
	}
	return who + " printed " + st.noise
}
