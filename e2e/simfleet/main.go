// Command simfleet plays the hosts of a large fleet, for benchmarks of the
// controller: SSH and the message stream are real, but every host finds every
// resource as it shall be, without looking, and goes on so when it is watched. One process serves them all, so that what they
// cost can be told apart. Each host has an address of the loopback of its own, as real
// ones have; what comes from anywhere else is hung up on.
//
//	simfleet -hosts N -dir DIR -modules DIR [-rtt 50ms] [-hold] [-drift]
//
// DIR gets hosts.yaml, the keys it names, and a "ready" line is printed. The
// fleet ends with its standard input. It says then what processor time it took and how many bytes went over its
// connections, and so it does for each line that it reads before.
// With -rtt each answer of a host takes so long; connecting takes no time. With -hold no host reports its last resource before a line is read there.
// With -drift the last resource of each watched play drifts at once, and again when it has been repaired.
package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func main() {
	hosts := flag.Int("hosts", 1000, "how many hosts there are")
	dir := flag.String("dir", "", "`folder` for the inventory and keys")
	programs := flag.String("modules", "", "`folder` with the host programs that the controller sends")
	rtt := flag.Duration("rtt", 0, "how long each answer takes")
	hold := flag.Bool("hold", false, "keep the last result back until a line is read")
	drift := flag.Bool("drift", false, "have what is watched drift")
	flag.Parse()
	if err := run(*hosts, *dir, *programs, *rtt, *hold, *drift); err != nil {
		fmt.Fprintln(os.Stderr, "simfleet:", err)
		os.Exit(1)
	}
}

func run(hosts int, dir, programs string, rtt time.Duration, hold, drift bool) error {
	list, err := builds.Load(programs)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no host programs, so no build id to greet with")
	}
	f := &fleet{build: list[0].ID, rtt: rtt, drift: drift, released: make(chan struct{})}
	if !hold {
		close(f.released)
	}
	known, err := f.keys(dir)
	if err != nil {
		return err
	}
	port, err := f.listen()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "known_hosts"), []byte(known(port)), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte(inventory(hosts, dir, port)), 0o600); err != nil {
		return err
	}
	fmt.Println("ready")
	stdin := bufio.NewReader(os.Stdin)
	if hold {
		if _, err := stdin.ReadString('\n'); err != nil {
			return err
		}
		close(f.released)
	}
	for {
		_, readErr := stdin.ReadString('\n')
		var use syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
			return err
		}
		fmt.Println("cpu", time.Duration(use.Utime.Nano()+use.Stime.Nano()), "bytes", f.bytes.Load(), "asked", f.asked.Load(), "mended", f.mended())
		switch {
		case readErr == io.EOF:
			return nil
		case readErr != nil:
			return readErr
		}
	}
}

// A fleet is what all hosts have in common.
type fleet struct {
	build    string
	rtt      time.Duration
	drift    bool
	config   *ssh.ServerConfig
	greeted  atomic.Int64
	bytes    atomic.Int64  // sent and received, of SSH
	asked    atomic.Int64  // messages received that are no ping
	released chan struct{} // closed when last results may be reported
	hosts    sync.Map      // addresses of those that are watched; true if something was applied since
}

// mended is on how many hosts something was applied after they had been watched.
func (f *fleet) mended() (n int) {
	f.hosts.Range(func(_, applied any) bool {
		if applied.(bool) {
			n++
		}
		return true
	})
	return n
}

// keys makes the key of the hosts and that of the one who may log in, and gives
// what writes known_hosts.
func (f *fleet) keys(dir string) (known func(port int) string, err error) {
	_, host, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	_, client, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	hostKey, err := ssh.NewSignerFromKey(host)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(client, "simfleet")
	if err != nil {
		return nil, err
	}
	allowed, err := ssh.NewPublicKey(client.Public())
	if err != nil {
		return nil, err
	}
	f.config = &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if cert, ok := key.(*ssh.Certificate); ok { // workers have keys of their own, which the fleet's certifies
				key = cert.SignatureKey
			}
			if string(key.Marshal()) != string(allowed.Marshal()) {
				return nil, errors.New("not the fleet's key")
			}
			return nil, nil
		},
	}
	f.config.AddHostKey(hostKey)
	known = func(port int) string {
		return fmt.Sprintf("[127.*]:%d %s", port, ssh.MarshalAuthorizedKey(hostKey.PublicKey()))
	}
	return known, os.WriteFile(filepath.Join(dir, "id"), pem.EncodeToMemory(block), 0o600)
}

// listen answers at all addresses there are: no socket listens to 127.0.0.0/8 alone.
func (f *fleet) listen() (port int, err error) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return 0, err
	}
	go f.accept(l) // until the process ends
	return l.Addr().(*net.TCPAddr).Port, nil
}

func inventory(hosts int, dir string, port int) string {
	var b strings.Builder
	b.WriteString("all:\n  hosts:\n")
	for i := range hosts {
		fmt.Fprintf(&b, "    sim%05d: {connect: {address: 127.%d.%d.%d, port: %d, user: sim, private_key: %s, known_hosts: %s}}\n",
			i+1, 1+i/62500, i/250%250, 1+i%250, port, filepath.Join(dir, "id"), filepath.Join(dir, "known_hosts"))
	}
	return b.String()
}

func (f *fleet) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "simfleet:", err)
			time.Sleep(100 * time.Millisecond) // out of file descriptors, perhaps
			continue
		}
		if !conn.RemoteAddr().(*net.TCPAddr).IP.IsLoopback() {
			conn.Close()
			continue
		}
		conn = &countedConn{Conn: conn, bytes: &f.bytes}
		if f.rtt > 0 {
			conn = &farConn{Conn: conn, rtt: f.rtt}
		}
		go f.host(conn)
	}
}

// A countedConn counts what is sent and received.
type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

// Read implements [net.Conn].
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// Write implements [net.Conn].
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}

// host is one connection. Whatever is wrong with it, the client will notice.
func (f *fleet) host(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, f.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go f.session(conn.LocalAddr().(*net.TCPAddr).IP.String(), channel, requests)
	}
}

func (f *fleet) session(address string, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		var payload struct{ Command string }
		isExec := r.Type == "exec" && ssh.Unmarshal(r.Payload, &payload) == nil
		if r.WantReply {
			r.Reply(isExec, nil)
		}
		if isExec {
			go ssh.DiscardRequests(requests)
			f.program(address, channel, payload.Command)
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{0}))
			return
		}
	}
}

// program plays the host program: the nonce follows the script's name, sh.
func (f *fleet) program(address string, channel ssh.Channel, command string) {
	words := strings.Fields(command[strings.LastIndexByte(command, '\'')+1:])
	if len(words) < 2 {
		return
	}
	if err := wire.WriteHello(channel, &wire.Hello{Nonce: words[1], Build: f.build, Facts: f.facts()}); err != nil {
		return
	}
	conn := wire.NewConn(bufio.NewReader(channel), channel, wire.MaxFromController)
	for {
		m, err := conn.Receive()
		if err == nil && m.Ping == nil {
			f.asked.Add(1)
		}
		switch {
		case err != nil:
			return
		case m.Ping != nil:
			err = conn.Send(&wire.Message{Pong: &wire.Empty{}})
		case m.Catalog != nil:
			all := stable(m.Catalog)
			if err = conn.Send(all[:len(all)-2]...); err == nil {
				<-f.released
				err = conn.Send(all[len(all)-2:]...)
			}
			if err == nil {
				err = f.watched(address, conn, m.Catalog)
			}
		}
		if err != nil {
			return
		}
	}
}

// watched goes on with a catalog that is watched.
func (f *fleet) watched(address string, conn *wire.Conn, c *wire.Catalog) error {
	if c.Watch == nil {
		if !c.Check {
			f.hosts.CompareAndSwap(address, false, true)
		}
		return nil
	}
	f.hosts.LoadOrStore(address, false)
	told := []*wire.Message{{Watched: &wire.Watched{Play: c.Watch.Play, Heard: true}}}
	if f.drift {
		told = append(told, &wire.Message{Watched: &wire.Watched{Play: c.Watch.Play, Results: []*wire.Result{{
			Index: len(c.Entries) - 1, Status: wire.Changed, Cause: wire.Drift,
			Changes: []modules.Change{{Property: "content", Have: "theirs", Want: "ours"}},
		}}}})
	}
	return conn.Send(told...)
}

// stable answers a catalog: nothing is to be done.
func stable(c *wire.Catalog) []*wire.Message {
	var all []*wire.Message
	for i := range c.Entries {
		all = append(all, &wire.Message{Result: &wire.Result{Index: i, Duration: 50 * time.Microsecond}})
	}
	return append(all, &wire.Message{Done: &wire.Done{}})
}

// facts are those that one more host reports: no two are equal.
func (f *fleet) facts() json.RawMessage {
	return fmt.Appendf(nil, `{"facts":{"host":{"info":{"hostname":"sim%d","os":"linux","platform":"debian","platformFamily":"debian",`+
		`"platformVersion":"12.11","kernelArch":"x86_64"}}}}`, f.greeted.Add(1))
}
