// Package sshtest is an SSH server within the process, for tests, the demo and benchmarks. It listens on a real TCP
// port of the loopback, runs commands as real processes of the current user below a folder that is the home, serves
// SFTP and can be a jump host. It can also misbehave, delay every packet, and count the costs of a client.
//
//	srv := sshtest.Start(t, sshtest.RTT(50*time.Millisecond))
//	target := transport.Target{
//	Address: srv.Host, Port: srv.Port, User: srv.User,
//	PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
//	}
//
// Use it only for yourself: anyone with the key can run commands as you.
package sshtest
