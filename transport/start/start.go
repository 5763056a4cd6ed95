package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// Program runs the host program and returns when it has sent its greeting. A host that
// has no fitting copy of it yet gets one first. Every error is a [transport.HostError];
// the connection is closed if the host did not answer in time or ctx ended.
func Program(ctx context.Context, c *transport.Client, r Request) (*Process, error) {
	if err := r.validate(); err != nil {
		return nil, c.Target().Fail(transport.OpStart, err, "")
	}
	st := newStarter(c, r)
	var process *Process
	err := st.untilIdle(ctx, func() (err error) {
		process, err = st.run()
		return err
	})
	if err != nil {
		return nil, err
	}
	return process, nil
}

// A starter runs one script on a host: that of one [Program], or of one [FootprintOf].
type starter struct {
	client  *transport.Client
	request Request
	idle    *idleTimeout
	op      string // the step that is going on
	again   bool   // what was cached did not start

	// Of the process that runs:
	terminal  bool             // the method of escalation reads from nothing else
	responder *promptResponder // nil if nothing can be asked
	noise     string           // what was printed before the greeting, quoted
}

func newStarter(c *transport.Client, r Request) *starter {
	return &starter{client: c, request: r, op: transport.OpStart}
}

func (st *starter) target() transport.Target { return st.client.Target() }

// untilIdle does something with the host, which must move.
func (st *starter) untilIdle(ctx context.Context, do func() error) error {
	ctx, st.idle = withIdleTimeout(ctx, st.limit())
	defer st.idle.stop()
	// Nothing on a channel can be waited for with a deadline: a host that keeps
	// silent is only got rid of with its connection.
	stop := context.AfterFunc(ctx, st.client.HangUp)
	err := do()
	if !stop() {
		return st.late(context.Cause(ctx))
	}
	return err
}

func (st *starter) limit() time.Duration { return cmp.Or(st.request.Timeout, defaultStartTimeout) }

func (st *starter) run() (*Process, error) {
	mode := modePlain
	if st.request.Become != nil {
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
	st.op = transport.OpInstall
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
	exit, ok := errors.AsType[*transport.ExitError](err)
	return ok && (exit.Code > 1 || exit.Signal != "")
}

// install sends the build to a script that waits for it. It goes over the standard
// input of the script: nothing has to be opened for it, or to be asked for again, and
// whoever the program is to run as has the only copy.
func (st *starter) install(p *Process, b Build) (*Process, error) {
	compressed, err := b.Compressed()
	if err != nil {
		p.Close()
		return nil, st.target().Fail(transport.OpInstall, err, "")
	}
	// A failed write is explained by what the script says, or by its exit.
	_ = st.idle.write(p, b.header(), compressed)
	// A jump host may have taken what the host is still waiting for.
	st.idle.allow(st.limit() * time.Duration(1+b.CompressedSize>>20))
	a, err := st.listen(p)
	if err == nil && a.hello == nil {
		p.Close()
		err = st.target().Fail(transport.OpInstall, fmt.Errorf("%w: the host asked for its build again", transport.ErrInstall), "")
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
	if st.request.Become != nil || st.target().Local || !known {
		return nil, st.refused(a)
	}
	err := upload(st.client, dir, b, st.request.Nonce, st.idle.progress)
	switch {
	case errors.Is(err, transport.ErrNoSpace):
		return nil, st.refused(answer{fail: failNoSpace, dir: a.dir})
	case errors.Is(err, transport.ErrInstall):
		return nil, st.target().Fail(transport.OpInstall, err, hintGzip)
	case err != nil:
		return nil, st.target().Fail(transport.OpInstall, err, "")
	}
	st.idle.allow(st.limit())
	p, a, err := st.exec(modeSent)
	if err != nil {
		return nil, err
	}
	if a.hello == nil { // SFTP begins elsewhere, say
		p.Close()
		err := fmt.Errorf("%w: gzip is missing on the host, and what was sent by SFTP is not where the host looks for it", transport.ErrInstall)
		return nil, st.target().Fail(transport.OpInstall, err, hintGzip)
	}
	p.Uploaded = true
	return p, nil
}

// build finds what the host needs.
func (st *starter) build(a answer) (Build, error) {
	var known []string
	for _, b := range st.request.Builds {
		if b.OS == a.os && b.Arch == a.arch {
			return b, nil
		}
		known = append(known, b.OS+"/"+b.Arch)
	}
	slices.Sort(known)
	err := fmt.Errorf("%w: it is %q", transport.ErrNoBuild, a.os+"/"+a.arch)
	return Build{}, st.target().Fail(transport.OpInstall, err, "there are builds for "+strings.Join(known, ", "))
}
