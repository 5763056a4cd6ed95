package sshtest

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// serve handles one connection until it ends.
func (s *Server) serve(ctx context.Context, tcp net.Conn) {
	if misbehave(ctx, tcp, s.config.Fault) {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	metered := &meteredConn{Conn: tcp, counters: &s.stats, budget: s.config.KillAfter}
	conn := delayed(metered, s.config.RTT/2, &work)
	defer conn.Close()
	sc, channels, requests, err := ssh.NewServerConn(conn, s.ssh)
	if err != nil {
		return
	}
	defer sc.Close()
	if s.config.Fault == FaultAfterAuth {
		sc.Wait()
		return
	}
	// A refusal is an answer, too, and suffices for a keepalive.
	work.Go(func() { ssh.DiscardRequests(requests) })
	for c := range channels {
		work.Go(func() { s.open(ctx, c) })
	}
}

func (s *Server) open(ctx context.Context, c ssh.NewChannel) {
	switch c.ChannelType() {
	case "session":
		s.stats.sessions.Add(1)
		if channel, requests, err := c.Accept(); err == nil {
			s.session(ctx, channel, requests)
		}
	case "direct-tcpip":
		s.stats.forwards.Add(1)
		forward(ctx, c)
	default:
		c.Reject(ssh.UnknownChannelType, "unknown channel type")
	}
}

// session handles one session channel, whose program may outlive it.
func (s *Server) session(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the requests end when the client or we have closed the channel
	started := false
	for r := range requests {
		run := s.program(r)
		ok := run != nil && !started
		if r.WantReply { // before the program can close the channel
			r.Reply(ok || r.Type == "env", nil)
		}
		if ok {
			started = true
			s.work.Go(func() {
				defer channel.Close()
				run(ctx, channel)
			})
		}
	}
}

// program returns the program that a request starts, or nil.
func (s *Server) program(r *ssh.Request) func(context.Context, ssh.Channel) {
	var payload struct{ Text string }
	if (r.Type != "exec" && r.Type != "subsystem") || ssh.Unmarshal(r.Payload, &payload) != nil {
		return nil
	}
	switch {
	case r.Type == "exec":
		s.stats.execs.Add(1)
		return func(ctx context.Context, c ssh.Channel) { s.exec(ctx, c, payload.Text) }
	case payload.Text == "sftp" && !s.config.NoSFTP:
		return s.sftp
	}
	return nil
}

func (s *Server) sftp(ctx context.Context, channel ssh.Channel) {
	if s.config.SFTP != nil {
		defer context.AfterFunc(ctx, func() { channel.Close() })()
		s.config.SFTP(s.Home, channel)
		return
	}
	server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(s.Home))
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	server.Serve()
}

// forward connects a direct-tcpip channel (RFC 4254, 7.2).
func forward(ctx context.Context, c ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil {
		c.Reject(ssh.ConnectionFailed, "malformed request")
		return
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer conn.Close()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { ssh.DiscardRequests(requests) })
	work.Go(func() {
		io.Copy(channel, conn)
		channel.Close()
	})
	io.Copy(conn, channel)
	conn.Close()
}
