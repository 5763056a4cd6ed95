package transport

import (
	"errors"
	"fmt"
	"strings"
)

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
	case failNoWrite:
		err = fmt.Errorf("%w: no directory can hold it, and one is on a read-only file system", errInstall)
		hint = "~/.cache/ccm-push, /var/tmp or /tmp must be a place where the user can write"
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
		err = errors.New("exit status 0")
	}
	if st.again && st.op == opInstall {
		return t.fail(st.op, fmt.Errorf("%w, nor when it was sent again: %w", ErrNotModule, err), st.silentHint(err))
	}
	return t.fail(st.op, fmt.Errorf("%w: %w", ErrNotModule, err), st.silentHint(err))
}

// silentHint says where to look after a process that has said nothing.
func (st *starter) silentHint(err error) string {
	exit, _ := errors.AsType[*ExitError](err)
	const notExecutable = 126 // as shells have it
	switch {
	case errors.Is(err, ErrLost):
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
	try := "does the login get a shell that runs commands? try: " + st.client.target.sshCommand() + " echo ok"
	if noise := st.noiseHint(); noise != "" {
		return noise + "; " + try
	}
	return try
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
	switch {
	case line == "":
		return "", ""
	case strings.Contains(line, "unknown user"):
		return line, "make the account " + b.user() + " on the host, or name another become_user"
	}
	return line, fmt.Sprintf("let %s run commands as %s without a password and without a terminal (sudoers: NOPASSWD, !requiretty)", user, b.user())
}
