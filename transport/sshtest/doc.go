// Package sshtest is an SSH server in the own process, for tests, the demo and
// benchmarks. It listens on a real TCP port of the loopback, runs commands as
// real processes of the current user below a directory that plays the home,
// serves SFTP and can be a jump host. It can also misbehave, slow every packet
// down, and count what a client costs.
//
//	srv := sshtest.Start(t, sshtest.RTT(50*time.Millisecond))
//	target := transport.Target{
//		Address: srv.Host, Port: srv.Port, User: srv.User,
//		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
//	}
//
// It is no server for anybody else: whoever has the key runs commands as you.
package sshtest
