// Command simfleet plays the hosts of a large fleet, for benchmarks of the
// controller: SSH and the message stream are real, but every host finds every
// resource as it shall be, without looking. One process serves them all, so that what they
// cost can be told apart. Each host has an address of the loopback of its own, as real
// ones have; what comes from anywhere else is hung up on.
//
//	simfleet -hosts N -dir DIR -modules DIR [-rtt 50ms] [-hold]
//
// DIR gets hosts.yaml, the keys it names, and a "ready" line is printed. The
// fleet ends with its standard input, and says then what processor time it took.
// With -rtt each answer of a host takes so long; connecting takes no time. With -hold no host reports its last resource before a line is read there.
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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func main() {
	hosts := flag.Int("hosts", 1000, "how many hosts there are")
	dir := flag.String("dir", "", "`folder` for the inventory and keys")
	programs := flag.String("modules", "", "`folder` with the host programs that the controller sends")
	rtt := flag.Duration("rtt", 0, "how long each answer takes")
	hold := flag.Bool("hold", false, "keep the last result back until a line is read")
	flag.Parse()
	if err := run(*hosts, *dir, *programs, *rtt, *hold); err != nil {
		fmt.Fprintln(os.Stderr, "simfleet:", err)
		os.Exit(1)
	}
}

func run(hosts int, dir, programs string, rtt time.Duration, hold bool) error {
	list, err := builds.Load(programs)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no host programs, so no build id to greet with")
	}
	f := &fleet{build: list[0].ID, rtt: rtt, released: make(chan struct{})}
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
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return err
	}
	fmt.Println("cpu", time.Duration(use.Utime.Nano()+use.Stime.Nano()))
	return nil
}

// A fleet is what all hosts have in common.
type fleet struct {
	build    string
	rtt      time.Duration
	config   *ssh.ServerConfig
	greeted  atomic.Int64
	released chan struct{} // closed when last results may be reported
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
		if f.rtt > 0 {
			conn = &farConn{Conn: conn, rtt: f.rtt}
		}
		go f.host(conn)
	}
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
		go f.session(channel, requests)
	}
}

func (f *fleet) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		var payload struct{ Command string }
		isExec := r.Type == "exec" && ssh.Unmarshal(r.Payload, &payload) == nil
		if r.WantReply {
			r.Reply(isExec, nil)
		}
		if isExec {
			go ssh.DiscardRequests(requests)
			f.program(channel, payload.Command)
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{0}))
			return
		}
	}
}

// program plays the host program: the nonce follows the script's name, sh.
func (f *fleet) program(channel ssh.Channel, command string) {
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
		}
		if err != nil {
			return
		}
	}
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
