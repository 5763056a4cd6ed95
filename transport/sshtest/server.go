package sshtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// A Server is a running server.
type Server struct {
	Addr       string // host:port
	Host       string
	Port       int
	User       string
	Home       string
	KeyFile    string // private key of the one who may log in, mode 0600
	KnownHosts string // known_hosts file with the keys of the server

	config   Config
	ssh      *ssh.ServerConfig
	listener net.Listener
	cancel   context.CancelFunc
	work     sync.WaitGroup
	stats    counters
	ownDir   string // to be removed

	killed chan struct{} // closed when the remaining commands are killed

	mu    sync.Mutex
	conns []net.Conn // accepted connections
}

// Start starts a server that ends with the test.
func Start(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	c := Config{Dir: tb.TempDir()}
	for _, o := range options {
		o(&c)
	}
	s, err := Serve(context.Background(), c)
	if err != nil {
		tb.Fatalf("starting an SSH server: %v", err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// Serve starts a server that ends with ctx or Close.
func Serve(ctx context.Context, c Config) (*Server, error) {
	s := &Server{config: c, User: cmp.Or(c.User, "deploy")}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.clean())
	}
	s.killed = make(chan struct{})
	ctx, s.cancel = context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { s.listener.Close() })
	s.work.Go(func() {
		defer stop()
		s.accept(ctx)
	})
	return s, nil
}

// Close ends all connections and their processes and waits for them.
func (s *Server) Close() error {
	s.cancel()
	s.listener.Close()
	late := time.AfterFunc(leave, func() { close(s.killed) })
	s.work.Wait()
	late.Stop()
	return s.clean()
}

// Cut closes all connections. New ones are still served.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

// Stats returns the costs of all clients so far.
func (s *Server) Stats() Stats { return s.stats.read() }

func (s *Server) clean() error {
	if s.ownDir == "" {
		return nil
	}
	return os.RemoveAll(s.ownDir)
}

func (s *Server) prepare() error {
	dir := s.config.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "sshtest-"); err != nil {
			return err
		}
		s.ownDir = dir
	}
	s.Home = cmp.Or(s.config.Home, filepath.Join(dir, "home"))
	if err := os.MkdirAll(s.Home, 0o700); err != nil {
		return err
	}
	if err := s.makeKeys(dir); err != nil {
		return err
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	addr := s.listener.Addr().(*net.TCPAddr)
	s.Addr, s.Host, s.Port = addr.String(), addr.IP.String(), addr.Port
	s.KnownHosts = filepath.Join(dir, "known_hosts")
	return os.WriteFile(s.KnownHosts, []byte(s.knownHostsLines()), 0o600)
}

func (s *Server) knownHostsLines() string {
	var text string
	for _, k := range s.config.HostKeys {
		text += knownhosts.Line([]string{s.Addr}, k.PublicKey()) + "\n"
	}
	return text
}

// makeKeys makes the client's key file and the keys of the server.
func (s *Server) makeKeys(dir string) error {
	client, pem, err := newKey()
	if err != nil {
		return err
	}
	s.KeyFile = filepath.Join(dir, "id_ed25519")
	if err := os.WriteFile(s.KeyFile, pem, 0o600); err != nil {
		return err
	}
	allowed := map[string]bool{string(client.PublicKey().Marshal()): true}
	for _, k := range s.config.AuthorizedKeys {
		allowed[string(k.Marshal())] = true
	}
	s.ssh = &ssh.ServerConfig{
		MaxAuthTries: 6, // as sshd
		PublicKeyCallback: func(conn ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if s.config.RejectAuth || conn.User() != s.User || !allowed[string(key.Marshal())] {
				return nil, fmt.Errorf("not authorized: %s as %s", ssh.FingerprintSHA256(key), conn.User())
			}
			return nil, nil
		},
	}
	if s.config.Auth != nil {
		s.config.Auth(s.ssh)
	}
	if len(s.config.HostKeys) == 0 {
		host, _, err := newKey()
		if err != nil {
			return err
		}
		s.config.HostKeys = []ssh.Signer{host}
	}
	for _, k := range s.config.HostKeys {
		s.ssh.AddHostKey(k)
	}
	return nil
}

func (s *Server) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		if s.stats.connections.Add(1) <= s.config.Drop {
			conn.Close()
			continue
		}
		s.work.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.serve(ctx, conn)
		})
	}
}

// ProxyCommand is a command whose standard input and output are a connection to s. It
// needs no program but nc, or bash with its tools.
func (s *Server) ProxyCommand(tb testing.TB) string {
	tb.Helper()
	if _, err := exec.LookPath("nc"); err == nil {
		return fmt.Sprintf("nc %s %d", s.Host, s.Port)
	}
	needs.Program(tb, "bash")
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; cat <&3 & exec cat >&3'`, s.Host, s.Port)
}

// delayed returns an end of conn that is d away: bytes take d in each direction, however many are in transit.
func delayed(conn net.Conn, d time.Duration, work *sync.WaitGroup) net.Conn {
	if d <= 0 {
		return conn
	}
	near, far := net.Pipe()
	work.Go(func() { carry(far, conn, d) })
	work.Go(func() { carry(conn, far, d) })
	return near
}

type parcel struct {
	bytes []byte
	due   time.Time
}

// carry copies from src to dst, each read after d, and then closes dst.
func carry(dst io.WriteCloser, src io.Reader, d time.Duration) {
	parcels := make(chan parcel, 4096)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(parcels)
		for {
			b := make([]byte, 32<<10)
			n, err := src.Read(b)
			if n > 0 {
				parcels <- parcel{b[:n], time.Now().Add(d)}
			}
			if err != nil {
				return
			}
		}
	})
	failed := false
	for p := range parcels {
		time.Sleep(time.Until(p.due))
		if _, err := dst.Write(p.bytes); err != nil && !failed {
			failed = true
			dst.Close() // makes the other direction end, and with it src
		}
	}
	dst.Close()
	reading.Wait()
}
