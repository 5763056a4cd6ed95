package sshtest

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// A Config describes a server. The zero value behaves well.
type Config struct {
	// Dir is the folder of the server's key files; empty means a temporary folder that Close removes.
	Dir string
	// Home is the home directory, where commands and SFTP start; "" is Dir/home.
	// It is made if it is missing.
	Home string
	// User is the only name that can log in; "" is "deploy". Commands run as the
	// user of this process whatever it is.
	User string
	// Shell is the login shell; the command is added as last argument. Empty is
	// /bin/sh -c.
	Shell []string
	// Env is added to the environment of commands: K=V.
	Env []string
	// HostKeys are the keys of the server; none means a new ed25519 key.
	HostKeys []ssh.Signer
	// AuthorizedKeys may log in, in addition to the key in [Server.KeyFile].
	AuthorizedKeys []ssh.PublicKey

	RTT    time.Duration // added to every round trip; throughput is not limited
	Noise  string        // printed before each command, as a login shell may do
	NoSFTP bool          // there is no SFTP subsystem
	// SFTP serves the subsystem; nil means a server of the file system that starts at home.
	SFTP      func(home string, channel io.ReadWriteCloser)
	Fault     Fault // misbehaviour
	KillAfter int64 // bytes sent until every connection is cut; 0 is never
	// Auth changes how clients may log in; nil leaves it at their keys.
	Auth func(*ssh.ServerConfig)
	// RejectAuth refuses every key.
	RejectAuth bool
	// Outlive lets commands outlive their connection, as sshd does: their input ends, and their output is discarded.
	// They end with Close at the latest.
	Outlive bool
	Drop    int64 // so many connections are closed at once, before any others are served
}

// A Fault is a way to misbehave.
type Fault int

// Misbehaviours of a server.
const (
	None            Fault = iota
	FaultCloseEarly       // sends its version and closes
	FaultSilent           // accepts the connection and sends nothing
	FaultAfterAuth        // answers nothing once a client is logged in
	FaultDrip             // sends its version one byte a second
	FaultEndless          // sends lines before its version for ever
	FaultMalformed        // sends random bytes after its version
)

// An Option changes a Config.
type Option func(*Config)

// RTT adds d to every round trip.
func RTT(d time.Duration) Option { return func(c *Config) { c.RTT = d } }

// CloseAtBanner makes a server that closes after its version line.
func CloseAtBanner() Option { return fault(FaultCloseEarly) }

// Silent makes a server that accepts connections and sends nothing.
func Silent() Option { return fault(FaultSilent) }

// SilentAfterAuth makes a server that answers nothing after the login.
func SilentAfterAuth() Option { return fault(FaultAfterAuth) }

// Drip makes a server that sends one byte a second.
func Drip() Option { return fault(FaultDrip) }

// Endless makes a server whose text before the version line has no end.
func Endless() Option { return fault(FaultEndless) }

// Malformed makes a server that sends random bytes for packets.
func Malformed() Option { return fault(FaultMalformed) }

func fault(f Fault) Option { return func(c *Config) { c.Fault = f } }

// RejectAuth makes a server that refuses all logins.
func RejectAuth() Option { return func(c *Config) { c.RejectAuth = true } }

// Auth changes how clients may log in.
func Auth(change func(*ssh.ServerConfig)) Option { return func(c *Config) { c.Auth = change } }

// Noise is printed on standard output before each command.
func Noise(text string) Option { return func(c *Config) { c.Noise = text } }

// KillAfter cuts each connection after the server has sent n bytes.
func KillAfter(n int64) Option { return func(c *Config) { c.KillAfter = n } }

// NoSFTP makes a server without the SFTP subsystem.
func NoSFTP() Option { return func(c *Config) { c.NoSFTP = true } }

// SFTP sets what the subsystem runs until the channel ends.
func SFTP(serve func(home string, channel io.ReadWriteCloser)) Option {
	return func(c *Config) { c.SFTP = serve }
}

// Shell sets the login shell, to which the command is added as last argument.
func Shell(argv ...string) Option { return func(c *Config) { c.Shell = argv } }

// Env adds K=V to the environment of commands.
func Env(kv ...string) Option { return func(c *Config) { c.Env = append(c.Env, kv...) } }

// Home sets the home directory.
func Home(dir string) Option { return func(c *Config) { c.Home = dir } }

// HostKeys sets the keys of the server.
func HostKeys(keys ...ssh.Signer) Option { return func(c *Config) { c.HostKeys = keys } }

// AuthorizedKeys lets further keys in.
func AuthorizedKeys(keys ...ssh.PublicKey) Option {
	return func(c *Config) { c.AuthorizedKeys = append(c.AuthorizedKeys, keys...) }
}

// Outlive has commands outlive their connection, as sshd does.
func Outlive() Option { return func(c *Config) { c.Outlive = true } }

// Drop closes the first n connections without a word, as a crowded sshd does.
func Drop(n int64) Option { return func(c *Config) { c.Drop = n } }

const version = "SSH-2.0-sshtest\r\n"

// misbehave plays a fault that needs no SSH, until the client has closed the connection. It reports whether there was
// one.
func misbehave(ctx context.Context, conn net.Conn, f Fault) bool {
	switch f {
	case FaultCloseEarly:
		io.WriteString(conn, version)
	case FaultSilent:
		io.Copy(io.Discard, conn)
	case FaultDrip:
		drip(ctx, conn)
	case FaultEndless:
		line := []byte(strings.Repeat("x", 250) + "\r\n")
		for err := error(nil); err == nil; {
			_, err = conn.Write(line)
		}
	case FaultMalformed:
		io.WriteString(conn, version)
		io.Copy(conn, io.LimitReader(rand.Reader, 1<<20))
	default:
		return false
	}
	return true
}

func drip(ctx context.Context, conn net.Conn) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for _, b := range []byte(strings.Repeat(version, 100)) {
		if _, err := conn.Write([]byte{b}); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
