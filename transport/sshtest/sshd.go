package sshtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// An SSHD is OpenSSH's sshd, run for every connection over a socket pair: it needs no
// port and no root.
type SSHD struct {
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	Address string // its name in KnownHosts; it does not listen there
	User    string
	Home    string // home directory of its sessions
	KeyFile string // private key of the one who may log in

	AuthorizedKeys, KnownHosts string // files
	Authorities                string // file of authorities whose certificates are accepted; empty at first

	serve func(conn *os.File)
}

// Listen has connections to a port of the loopback served too, until the test ends.
func (s *SSHD) Listen(tb testing.TB) (port int) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			work.Go(func() {
				file, err := conn.(*net.TCPConn).File()
				conn.Close()
				if err == nil {
					s.serve(file)
				}
			})
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		work.Wait()
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// StartSSHD starts an sshd for a test. If the machine has none, it skips the test, or fails it if CI is set.
func StartSSHD(tb testing.TB) *SSHD {
	tb.Helper()
	program := findSSHD(tb)
	dir := tb.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	me, err := user.Current()
	if err != nil {
		tb.Fatal(err)
	}
	s := &SSHD{
		Address: "real.example", User: me.Username, Home: at("home"), KeyFile: at("id"),
		AuthorizedKeys: at("authorized_keys"), KnownHosts: at("known_hosts"), Authorities: at("user_ca"),
	}
	hostKey, hostFile, err := newKey()
	if err != nil {
		tb.Fatal(err)
	}
	clientKey, clientFile, err := newKey()
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(s.Home, 0o700); err != nil {
		tb.Fatal(err)
	}
	for path, text := range map[string][]byte{
		at("host_key"):   hostFile,
		s.KeyFile:        clientFile,
		s.AuthorizedKeys: ssh.MarshalAuthorizedKey(clientKey.PublicKey()),
		s.KnownHosts:     []byte(knownhosts.Line([]string{s.Address}, hostKey.PublicKey()) + "\n"),
		s.Authorities:    nil,
		at("sshd_config"): fmt.Appendf(nil, "HostKey %[1]s/host_key\nAuthorizedKeysFile %[1]s/authorized_keys\nTrustedUserCAKeys %[1]s/user_ca\nStrictModes no\nUsePAM no\nPidFile none\n"+
			"PermitRootLogin yes\nSetEnv HOME=%[2]s\nSubsystem sftp internal-sftp -d %[2]s\nLogLevel ERROR\n", dir, s.Home),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	s.Dial = func(context.Context, string, string) (net.Conn, error) {
		return startSSHD(tb, program, "-i", "-e", "-f", at("sshd_config"))
	}
	s.serve = func(conn *os.File) {
		defer conn.Close()
		cmd := exec.Command(program, "-i", "-e", "-f", at("sshd_config"))
		var log bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = conn, conn, &log
		_ = cmd.Run() // the client has the error
		tb.Logf("sshd: %s", log.String())
	}
	return s
}

func findSSHD(tb testing.TB) string {
	tb.Helper()
	program := needs.Program(tb, "sshd")
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where root's sshd separates privileges
			tb.Fatal(err)
		}
	}
	return program
}

func startSSHD(tb testing.TB, program string, args ...string) (net.Conn, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		syscall.ForkLock.RUnlock()
		return nil, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	syscall.ForkLock.RUnlock()
	ours, theirs := os.NewFile(uintptr(fds[0]), "client"), os.NewFile(uintptr(fds[1]), "sshd")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(program, args...)
	var log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tb.Cleanup(func() {
		cmd.Wait()
		tb.Logf("sshd: %s", log.String())
	})
	return net.FileConn(ours)
}
