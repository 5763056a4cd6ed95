package dial

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

const (
	defaultShell = "/bin/sh"
	// proxyGrace is the time that a proxy command has to end after SIGTERM.
	proxyGrace = time.Second
)

// A proxyConn is a connection through a command (ssh_config, ProxyCommand). The command has a session of its own, so
// that all its processes can be ended, and no terminal for prompts: many of them run at once.
type proxyConn struct {
	in, out *os.File // our ends of its standard output and input
	cmd     *exec.Cmd
	noise   *transport.Stderr
	close   sync.Once
	ended   error // how the command ended; valid after close
}

// startProxy runs a command with the operator's shell, as ssh does.
func startProxy(shell, command string) (net.Conn, error) {
	p := &proxyConn{cmd: exec.Command(shell, "-c", "exec "+command), noise: transport.NewStderr()}
	theirIn, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	in, theirOut, err := os.Pipe()
	if err != nil {
		out.Close()
		return nil, err
	}
	defer theirOut.Close()
	p.in, p.out = in, out
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, p.noise
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.WaitDelay = proxyGrace // a child may hold its standard error
	if err := p.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("proxy command: %w", transport.WithoutPath(err))
	}
	return p, nil
}

// Read implements [net.Conn].
func (p *proxyConn) Read(b []byte) (int, error) { return p.in.Read(b) }

// Write implements [net.Conn].
func (p *proxyConn) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close ends every wait, then the command and its children, and waits for them.
func (p *proxyConn) Close() error {
	p.close.Do(func() {
		p.in.Close()
		p.out.Close()
		group := -p.cmd.Process.Pid
		syscall.Kill(group, syscall.SIGTERM)
		kill := time.AfterFunc(proxyGrace, func() { syscall.Kill(group, syscall.SIGKILL) })
		p.ended = p.cmd.Wait()
		kill.Stop()
		syscall.Kill(group, syscall.SIGKILL) // processes that have survived
	})
	return nil
}

// SetDeadline implements [net.Conn].
func (p *proxyConn) SetDeadline(t time.Time) error {
	return cmp.Or(p.in.SetReadDeadline(t), p.out.SetWriteDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (p *proxyConn) SetReadDeadline(t time.Time) error { return p.in.SetReadDeadline(t) }

// SetWriteDeadline implements [net.Conn].
func (p *proxyConn) SetWriteDeadline(t time.Time) error { return p.out.SetWriteDeadline(t) }

// LocalAddr implements [net.Conn].
func (p *proxyConn) LocalAddr() net.Addr { return proxyAddr{} }

// RemoteAddr implements [net.Conn].
func (p *proxyConn) RemoteAddr() net.Addr { return proxyAddr{} }

// A proxyAddr is somewhere at the other end of a command.
type proxyAddr struct{}

// Network implements [net.Addr].
func (proxyAddr) Network() string { return "proxy" }

// String implements [net.Addr].
func (proxyAddr) String() string { return "proxy command" }

// explain returns how the command ended, if that is known. It calls Close.
func (p *proxyConn) explain() string {
	p.Close()
	var parts []string
	if exit, ok := errors.AsType[*exec.ExitError](p.ended); ok && exit.Exited() {
		parts = append(parts, fmt.Sprintf("the proxy command ended with exit status %d", exit.ExitCode()))
	}
	if said := strings.TrimSpace(p.noise.String()); said != "" {
		parts = append(parts, "it said "+transport.QuoteExcerpt(said))
	}
	return cmp.Or(strings.Join(parts, ", "), "by way of a proxy command")
}

// proxy is the proxy command of an attempt, nil if it has none.
func (a *attempt) proxy() *proxyConn {
	if a.banner == nil {
		return nil
	}
	p, _ := a.banner.Conn.(*proxyConn)
	return p
}

// withProxy adds to an error what the proxy command has to say.
func (a *attempt) withProxy(err error) error {
	if p := a.proxy(); p != nil {
		return fmt.Errorf("%w (%s)", err, p.explain())
	}
	return err
}
