package sshtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// drain limits the wait for the output of a process that has ended: a grandchild may hold it open.
const drain = 2 * time.Second

// leave is the time that a command has to end after its connection is lost or the server is closed, which ends its
// input. sshd has no such limit.
const leave = 500 * time.Millisecond

// exec runs a command as the login shell would, in a process group that is
// killed some time after the end of its connection or of the server, and reports how it ended.
func (s *Server) exec(connection context.Context, channel ssh.Channel, command string) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(connection))
	defer cancel()
	over := connection.Done()
	if s.config.Outlive {
		over = nil
	}
	s.work.Go(func() {
		defer cancel()
		select {
		case <-over:
		case <-s.killed:
			return
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(leave):
		case <-s.killed:
		case <-ctx.Done():
		}
	})
	shell := s.config.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], command)...)
	cmd.Dir = s.Home
	cmd.Env = append(s.environment(shell[0]), s.config.Env...)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drain
	stdin, err := cmd.StdinPipe()
	if err == nil {
		io.WriteString(channel, s.config.Noise)
		err = cmd.Start()
	}
	if err != nil {
		io.WriteString(channel.Stderr(), err.Error()+"\n")
		report(channel, 127<<8)
		return
	}
	var feeding sync.WaitGroup
	feeding.Go(func() {
		defer stdin.Close()
		io.Copy(stdin, channel)
	})
	cmd.Wait()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // remaining processes of the group
	report(channel, cmd.ProcessState.Sys().(syscall.WaitStatus))
	channel.Close() // the client's answer to that ends the reading of its input
	feeding.Wait()
}

func (s *Server) environment(shell string) []string {
	env := []string{"HOME=" + s.Home, "USER=" + s.User, "LOGNAME=" + s.User, "SHELL=" + shell, fmt.Sprintf("SSH_CONNECTION=%[1]s 1 %[1]s %[2]d", s.Host, s.Port)}
	if path, ok := os.LookupEnv("PATH"); ok {
		env = append(env, "PATH="+path)
	}
	return env
}

// report sends exit-status or exit-signal (RFC 4254, 6.10).
func report(channel ssh.Channel, status syscall.WaitStatus) {
	if !status.Signaled() {
		channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(status.ExitStatus())}))
		return
	}
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "ABRT", syscall.SIGALRM: "ALRM", syscall.SIGFPE: "FPE", syscall.SIGHUP: "HUP",
		syscall.SIGILL: "ILL", syscall.SIGINT: "INT", syscall.SIGKILL: "KILL", syscall.SIGPIPE: "PIPE",
		syscall.SIGQUIT: "QUIT", syscall.SIGSEGV: "SEGV", syscall.SIGTERM: "TERM",
	}
	channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
		Name    string
		Core    bool
		Message string
		Lang    string
	}{names[status.Signal()], status.CoreDump(), "", ""}))
}
