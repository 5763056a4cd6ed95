package start

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// Why a host program has not started, and what to do about it.

// fail returns an error of the current step.
func (r *runner) fail(err error, hint string) error { return r.target.Fail(r.op, err, hint) }

func (r *runner) failBecome(err error, hint string) error {
	return r.target.Fail(transport.OpBecome, err, hint)
}

// hintGzip is for a host that can neither unpack the program nor be given it unpacked.
const hintGzip = "install gzip on the host"

// refused turns a fail line of a host into an error.
func refused(t transport.Target, b *Become, a answer) error {
	var err error
	var hint string
	switch a.fail {
	case failNoRun, failNoPath:
		return runsNothing(t, b, a)
	case failNoSpace:
		err, hint = transport.ErrNoSpace, "about 10 MB are needed in ~/.cache/ccm-push, /var/tmp or /tmp"
	case failNoExec:
		err = fmt.Errorf("%w: every directory that could hold it is mounted noexec", transport.ErrInstall)
		hint = "make ~/.cache/ccm-push, /var/tmp or /tmp a place where programs can be executed"
	case failNoWrite:
		err = fmt.Errorf("%w: no directory can hold it, and one is on a read-only file system", transport.ErrInstall)
		hint = "the user must be able to write to ~/.cache/ccm-push, /var/tmp or /tmp"
	case failNoDir:
		err = fmt.Errorf("%w: no directory can hold it", transport.ErrInstall)
		hint = "one of ~/.cache/ccm-push, /var/tmp/ccm-push-UID and /tmp/ccm-push-UID must be a directory of the user with mode 0700, or the user must be able to create it"
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
	return t.Fail(transport.OpInstall, err, hint)
}

// runsNothing explains a host on which the script runs, and no other program, not even id.
func runsNothing(t transport.Target, b *Become, a answer) error {
	shell, op, is := "the login shell", transport.OpInstall, transport.ErrInstall
	if b != nil {
		shell, op, is = "/bin/sh as "+b.user(), transport.OpBecome, transport.ErrBecome
	}
	err := fmt.Errorf("%w: %s could run nothing, not even id: permission denied", is, shell)
	hint := "does a policy forbid it (SELinux, AppArmor, fapolicyd)?"
	sudo := "; on the host, sudo -l -U " + t.User + " prints what applies"
	if a.fail == failNoPath {
		err = fmt.Errorf("%w: %s found no program, not even id, in PATH=%q", is, shell, a.dir)
		hint = "set PATH in a start-up file of the shell"
	}
	switch {
	case b == nil || b.method() != methodSudo:
	case a.fail == failNoPath:
		hint = "check secure_path in sudoers: it must contain the directories of the system's programs, such as /usr/bin" + sudo
	default:
		hint = "look for noexec (Defaults) and NOEXEC (in a rule) in sudoers" + sudo
	}
	return t.Fail(op, err, hint)
}

// silent explains a process that printed nothing known. heard is the error of reading its output.
func (r *runner) silent(p *Process, heard error) error {
	if !errors.Is(heard, errEnded) {
		return r.fail(fmt.Errorf("%w: %w", transport.ErrNotModule, heard), r.noiseHint())
	}
	prompts, owner, unanswered := r.responder.asked()
	var err error
	if !unanswered {
		err = p.Wait() // until then standard error may have more to say
		prompts, owner, unanswered = r.responder.asked()
	}
	if unanswered {
		line, hint := r.become.unanswered(prompts, r.target.User, owner)
		return r.failBecome(fmt.Errorf("%w: %s", transport.ErrBecome, line), hint)
	}
	exit, _ := errors.AsType[*transport.ExitError](err)
	if exit != nil && r.become != nil {
		said, refused := p.said()
		exit.Stderr = r.tidy(said)
		if line, hint := r.become.refusal(exit, said, prompts > 0, r.target.User, owner); refused && line != "" {
			return r.failBecome(fmt.Errorf("%w: %s", transport.ErrBecome, line), hint)
		}
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	if r.again && r.op == transport.OpInstall {
		return r.fail(fmt.Errorf("%w, nor when it was sent again: %w", transport.ErrNotModule, err), r.silentHint(err))
	}
	return r.fail(fmt.Errorf("%w: %w", transport.ErrNotModule, err), r.silentHint(err))
}

// tidy removes our own lines and the password from the output of a host.
func (r *runner) tidy(text string) string {
	n := r.nonce
	text = withoutPrompts(strings.NewReplacer(begun(n)+"\n", "", announced+n+"\n", "").Replace(text), n, "")
	return r.become.withoutPassword(text)
}

// wantsTerminal recognises a method that does not even prompt without a terminal.
func wantsTerminal(err error) bool {
	return err != nil && errors.Is(err, transport.ErrBecome) && noTerminal().MatchString(err.Error())
}

// late explains why a host has not answered in time; cause may also be that the run has
// been stopped.
func (r *runner) late(cause error) error {
	starting := r.op == transport.OpStart
	prompts, _, _ := r.responder.asked()
	switch {
	case !errors.Is(cause, transport.ErrTimeout), !starting:
		return r.fail(cause, r.noiseHint())
	case r.become != nil && prompts > 0:
		return r.failBecome(fmt.Errorf("%w: %s has the password, and does not respond", cause, r.become.method()), "check PAM on the host: it may wait for a server that does not answer")
	case r.atSu():
		return r.fail(cause, r.afterNoise("su does not prompt: does PAM wait for a server that does not answer, or does "+r.become.user()+" have no shell that runs commands?"))
	}
	return r.fail(cause, r.shellHint())
}

// silentHint names the places to look at after a process that printed nothing.
func (r *runner) silentHint(err error) string {
	exit, _ := errors.AsType[*transport.ExitError](err)
	const notExecutable = 126 // as shells have it
	switch {
	case errors.Is(err, transport.ErrLost):
		return r.noiseHint()
	case exit != nil && exit.Code == notExecutable:
		return "the host does not execute it: is its directory mounted noexec, or does a policy forbid it (SELinux, fapolicyd)?"
	case exit != nil && exit.Signal == "KILL":
		return "did the host run out of memory?"
	case exit != nil && exit.Signal != "":
		return ""
	}
	return r.shellHint()
}

// shellHint returns the hint for a process that seems to have ended before the host program started.
func (r *runner) shellHint() string {
	if r.target.Local && r.become == nil {
		return r.noiseHint()
	}
	if r.atSu() {
		return r.afterNoise("does " + r.become.user() + " have a shell that runs commands? su needs one, sudo and doas do not")
	}
	try := "check that the shell of this user runs commands, and that sshd does not force another command (ForceCommand, or command= in authorized_keys); to test: " + r.target.SSHCommand() + " echo ok"
	return r.afterNoise(try)
}

// atSu reports whether su was run: what fails before it is up to the login shell.
func (r *runner) atSu() bool {
	b := r.become
	return b != nil && b.method() == methodSu && r.responder.reached()
}

// afterNoise returns hint, after the host's other output.
func (r *runner) afterNoise(hint string) string {
	if noise := r.noiseHint(); noise != "" {
		return noise + "; " + hint
	}
	return hint
}

func (r *runner) noiseHint() string {
	if r.noise == "" {
		return ""
	}
	who := "the login shell"
	if r.atSu() {
		who = "the host" // either su or the command that it runs may have printed it
	}
	return who + " printed " + r.noise
}
