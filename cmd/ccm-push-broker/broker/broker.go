package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// The timeout of a start, and the interval between checks for changed users.
const (
	startTime = time.Minute
	lookTime  = time.Second
)

// A Broker is a server of NATS in a folder.
type Broker struct {
	Dir    string
	Listen string       // an address
	Names  []string     // additional names in clients' addresses
	Server string       // address of a nats-server on this machine; empty runs one in this process
	Notify string       // the socket of a service manager (sd_notify(3)); "" disables it
	Say    func(string) // prints messages for the operator

	Listening func(address string) // called with the address; may be nil
}

// CA returns the file that clients verify the server by.
func (b *Broker) CA() string { return filepath.Join(b.Dir, "ca.pem") }

// prepare makes the folder, which must be for its owner alone, and the authority.
func (b *Broker) prepare() error {
	if err := os.MkdirAll(filepath.Join(b.Dir, "users"), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(b.Dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("other users can enter %s (mode %04o): chmod 0700 %[1]s", b.Dir, info.Mode().Perm())
	}
	_, err = openAuthority(b.Dir, time.Now())
	for _, name := range []string{"users", "ca.pem", "ca.key"} {
		if err == nil {
			err = b.giveAway(filepath.Join(b.Dir, name))
		}
	}
	return err
}

// lock keeps a second broker out of the folder until the file is closed.
func (b *Broker) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(b.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another broker is running in %s", b.Dir)
	}
	return f, nil
}

// Run serves until the end of ctx, which is not an error.
func (b *Broker) Run(ctx context.Context) error {
	if err := b.prepare(); err != nil {
		return err
	}
	if err := b.checkListen(); err != nil {
		return err
	}
	held, err := b.lock()
	if err != nil {
		return err
	}
	defer held.Close()
	ca, err := openAuthority(b.Dir, time.Now())
	if err != nil {
		return err
	}
	users, err := b.Users()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", b.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close()
	f := &filter{tls: ca.config(b.names()), users: b.Users, leases: &leases{file: filepath.Join(b.Dir, "leases")}, say: b.Say}
	failed := make(chan string, 1)
	admit, end, err := b.reach(ctx, f, users, failed)
	if err != nil {
		return err
	}
	defer end()
	defer f.own.Close()
	defer b.notify("STOPPING=1")
	if err := prepareWork(ctx, f.own); err != nil {
		return err
	}
	inviting, err := (&invitations{broker: b}).serve(f.own)
	if err != nil {
		return err
	}
	defer func() { _ = inviting.Unsubscribe() }()
	serving, stop := context.WithCancel(ctx)
	var served sync.WaitGroup
	served.Go(func() {
		if err := f.serve(serving, listener); err != nil {
			failed <- err.Error()
		}
	})
	defer served.Wait()
	defer stop()
	address := listener.Addr().String()
	b.Say(fmt.Sprintf("listening on %s; the authority %s is %s", address, b.CA(), ca.fingerprint()))
	if len(users) == 0 {
		b.Say("no users yet; add one: ccm-push-broker user add NAME --dir " + b.Dir)
	}
	b.notify("READY=1")
	if b.Listening != nil {
		b.Listening(address)
	}
	return b.follow(ctx, f, admit, users, failed)
}

// reach starts the server in this process, or connects to the one of --server, and sets how the filter connects to it.
// admit sends new users to the server; end stops it.
func (b *Broker) reach(ctx context.Context, f *filter, users []User, failed chan string) (admit func([]User) error, end func(), err error) {
	if b.Server != "" {
		admit, err = b.reachServer(f)
		return admit, func() {}, err
	}
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, nil, err
	}
	opts := b.options()
	if opts.Nkeys, err = admitted(own, users); err != nil {
		return nil, nil, err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, nil, fmt.Errorf("starting the server: %w", err)
	}
	srv.SetLogger(&logger{b.Say, failed}, false, false)
	srv.Start()
	end = func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
	if err = ready(ctx, srv, failed); err == nil {
		f.dial = srv.InProcessConn
		f.own, err = login("", own, nats.InProcessServer(srv))
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return func(now []User) error {
		changed := opts.Clone()
		if changed.Nkeys, err = admitted(own, now); err != nil {
			return err
		}
		if err := srv.ReloadOptions(changed); err != nil {
			return fmt.Errorf("updating the users of the server: %w", err)
		}
		return nil
	}, end, nil
}

// names returns the names and addresses in the certificate of the broker.
func (b *Broker) names() []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, b.Names...)
	if host, _, err := net.SplitHostPort(b.Listen); err == nil && host != "" && !net.ParseIP(host).IsUnspecified() {
		names = append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// checkListen returns an error unless --listen is an address with a port.
func (b *Broker) checkListen() error {
	_, port, err := net.SplitHostPort(b.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--listen %s: write HOST:PORT or :PORT", b.Listen)
	}
	return nil
}

// options returns the configuration of the server, without users. Only this process connects to the server: clients
// connect to the filter.
func (b *Broker) options() *server.Options {
	return &server.Options{
		ServerName: "ccm-push-broker", DontListen: true, NoSigs: true, AuthTimeout: 10,
		JetStream: true, StoreDir: b.Dir, // in its folder jetstream
	}
}

// admitted converts users to the server's type. The broker itself is always among them, with a key that is in no file:
// a server without users accepts everyone.
func admitted(own nkeys.KeyPair, users []User) ([]*server.NkeyUser, error) {
	key, err := own.PublicKey()
	if err != nil {
		return nil, err
	}
	list := []*server.NkeyUser{{Nkey: key}}
	for _, u := range users {
		list = append(list, &server.NkeyUser{Nkey: u.Key, Permissions: u.Role.permissions(u.Key)})
	}
	return list, nil
}

// login connects to the server as the broker itself.
func login(url string, own nkeys.KeyPair, opts ...nats.Option) (*nats.Conn, error) {
	key, err := own.PublicKey()
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(url, append(opts, nats.Nkey(key, own.Sign), nats.MaxReconnects(-1))...)
	if err != nil {
		return nil, fmt.Errorf("logging in to the server: %w", err)
	}
	return conn, nil
}

// prepareWork makes the stream from which workers take hosts: workers may not make streams.
func prepareWork(ctx context.Context, conn *nats.Conn) error {
	work, err := queue.NewJetStream(conn, 0)
	if err != nil {
		return err
	}
	return work.Prepare(ctx)
}

func ready(ctx context.Context, srv *server.Server, failed <-chan string) error {
	for end := time.Now().Add(startTime); !srv.ReadyForConnections(100 * time.Millisecond); {
		select {
		case text := <-failed:
			return errors.New(text)
		case <-ctx.Done():
			return nil
		default:
			if time.Now().After(end) {
				return fmt.Errorf("the server does not listen after %v", startTime)
			}
		}
	}
	return nil
}

// follow updates the server when users are added and removed, until the end of ctx.
func (b *Broker) follow(ctx context.Context, f *filter, admit func([]User) error, users []User, failed <-chan string) error {
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case text := <-failed:
			return errors.New(text)
		case <-look.C:
		}
		now, err := b.Users()
		if err != nil {
			b.Say("the list of users was not reloaded: " + err.Error())
			continue
		}
		if slices.Equal(now, users) {
			continue
		}
		if err := admit(now); err != nil {
			return err
		}
		users = now
		f.changed(users)
		b.Say(fmt.Sprintf("users who may log in: %d", len(users)))
	}
}

// notify sends the state of the broker to the service manager.
func (b *Broker) notify(state string) {
	if b.Notify == "" {
		return
	}
	conn, err := net.Dial("unixgram", b.Notify)
	if err == nil {
		_, err = conn.Write([]byte(state))
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		b.Say("warning: notifying the service manager: " + err.Error())
	}
}

// logger prints the server's warnings and errors. Messages that are useless to the operator are dropped.
type logger struct {
	say    func(string)
	failed chan<- string
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Warnf(format string, args ...any)  { l.say("warning: " + fmt.Sprintf(format, args...)) }
func (l *logger) Errorf(format string, args ...any) { l.say("error: " + fmt.Sprintf(format, args...)) }

// Fatalf ends the broker, since the server does not end by itself.
func (l *logger) Fatalf(format string, args ...any) {
	select {
	case l.failed <- fmt.Sprintf(format, args...):
	default: // the first error is the cause
	}
}
