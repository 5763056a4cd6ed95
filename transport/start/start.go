package start

import (
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
	in := installer{newRunner(c, r), r}
	var process *Process
	err := in.runner.untilIdle(ctx, func() (err error) {
		process, err = in.start()
		return err
	})
	if err != nil {
		return nil, err
	}
	return process, nil
}

// An installer starts the host program, and brings it to the host before if need be.
type installer struct {
	runner  *runner
	request Request
}

func (in *installer) start() (*Process, error) {
	mode := modePlain
	if in.request.Become != nil {
		mode = modeBegin
	}
	p, a, err := in.exec(mode)
	if died(err) {
		in.runner.again = true
		p, a, err = in.exec(modeAgain)
	}
	if err != nil || a.hello != nil {
		return p, err
	}
	in.runner.op = transport.OpInstall
	build, hint, err := chooseBuild(in.request.Builds, a)
	if err != nil {
		p.Close()
		return nil, in.runner.fail(err, hint)
	}
	if a.fail == failNoGzip {
		p.Close()
		return in.installUnpacked(a, build)
	}
	return in.install(p, build)
}

// exec runs the script and waits for its answer.
func (in *installer) exec(mode string) (*Process, answer, error) {
	line, err := commandLine(in.request, mode)
	if err != nil {
		return nil, answer{}, in.runner.fail(err, "")
	}
	return in.runner.run(line)
}

// died reports whether a damaged copy of the build has probably been started. Each start compares owner, mode and size;
// a hash would cost more than all the rest. A shell that cannot execute a file ends with 126 or, if it takes the file
// for a script, with 2 or 127; a broken program ends by a signal. A profile that exits and nologin end with 0 or 1, and
// another try does not help.
func died(err error) bool {
	exit, ok := errors.AsType[*transport.ExitError](err)
	return ok && (exit.Code > 1 || exit.Signal != "")
}

// install sends the build to the standard input of a waiting script: no file needs to be opened or requested again, and
// only the user of the program has a copy.
func (in *installer) install(p *Process, b Build) (*Process, error) {
	if near, err := in.takeNear(p, b); near || err != nil {
		return p, err
	}
	compressed, err := b.Compressed()
	if err != nil {
		p.Close()
		return nil, in.runner.fail(err, "")
	}
	for range directories {
		// The output of the script or its exit explains a failed write.
		_ = in.runner.idle.write(p, pace{ask: in.runner.client.Signs()}, b.header(), compressed, in.request.sent)
		in.request.sent(0, 0)
		// A jump host may have taken what the host is still waiting for.
		in.runner.idle.allow(in.runner.limit * time.Duration(1+b.CompressedSize>>20))
		a, err := in.runner.listen(p)
		if err != nil {
			return nil, err
		}
		if a.hello != nil {
			p.Uploaded = true
			return p, nil
		}
	}
	p.Close()
	return nil, in.runner.fail(fmt.Errorf("%w: the host requested the host program again", transport.ErrInstall), "")
}

// directories is the number of directories that a script tries. If one has no room, the script requests the build
// again.
const directories = 3

// nearTime limits [Request.Near].
const nearTime = 15 * time.Minute

// takeNear has a waiting script take the build from a file on the host. If that is not the build, the script waits
// again. After an error, p is closed.
func (in *installer) takeNear(p *Process, b Build) (done bool, err error) {
	if in.request.Near == nil || !in.request.Become.readsLogin(in.runner.target.User) {
		return false, nil
	}
	in.runner.idle.allow(nearTime)
	path := in.request.Near(b)
	in.runner.idle.allow(in.runner.limit)
	if !transport.IsPlainWord(path) || !strings.HasPrefix(path, "/") {
		return false, nil
	}
	// The output of the script or its exit explains a failed write.
	_, _ = p.Write([]byte(b.headerOf(path)))
	a, err := in.runner.listen(p)
	p.Taken = err == nil && a.hello != nil
	return p.Taken, err
}

// installUnpacked uploads the build over SFTP to a host that cannot unpack it, and runs the script again. It works for
// the login user only: the login user could swap the file before another user, such as root, executes it.
func (in *installer) installUnpacked(a answer, b Build) (*Process, error) {
	dir, known := uploadDir(a.dir)
	if in.request.Become != nil || in.runner.target.Local || !known {
		return nil, refused(in.runner.target, in.runner.become, a)
	}
	err := upload(in.runner.client, dir, b, in.request.Nonce, in.runner.idle.progress)
	switch {
	case errors.Is(err, transport.ErrNoSpace):
		return nil, refused(in.runner.target, in.runner.become, answer{fail: failNoSpace, dir: a.dir})
	case errors.Is(err, transport.ErrInstall):
		return nil, in.runner.fail(err, hintGzip)
	case err != nil:
		return nil, in.runner.fail(err, "")
	}
	in.runner.idle.allow(in.runner.limit)
	p, a, err := in.exec(modeSent)
	if err != nil {
		return nil, err
	}
	if a.hello == nil { // SFTP begins elsewhere, say
		p.Close()
		err := fmt.Errorf("%w: gzip is missing on the host, so the host program was sent by SFTP, but the login shell does not find the program", transport.ErrInstall)
		return nil, in.runner.fail(err, hintGzip)
	}
	p.Uploaded = true
	return p, nil
}

// chooseBuild finds what the host needs.
func chooseBuild(builds []Build, a answer) (build Build, hint string, err error) {
	var known []string
	for _, b := range builds {
		if b.OS == a.os && b.Arch == a.arch {
			return b, "", nil
		}
		known = append(known, b.OS+"/"+b.Arch)
	}
	slices.Sort(known)
	return Build{}, "builds exist for " + strings.Join(known, ", "), fmt.Errorf("%w: it is %q", transport.ErrNoBuild, a.os+"/"+a.arch)
}
