// Command simfleet plays the hosts of a large fleet, for benchmarks of the controller: SSH and the message stream are
// real, but every host finds every resource stable, without looking, and also when it is watched. One process serves
// them all, so that their cost can be counted apart. Each host has a loopback address of its own, like real hosts;
// connections from other networks are closed.
//
//	simfleet -hosts N -dir DIR -modules DIR [-rtt 50ms] [-hold] [-drift] [-relays N] [-near 300ms] [-each 25ms] [-net 10.178]
//
// It writes hosts.yaml and the keys that it names to DIR, and prints a "ready" line. The fleet ends with its standard
// input. At its end, and for each line of input, it prints its processor time and the number of bytes on its
// connections.
//
// With -rtt each answer of a host takes so long; connecting takes no time. With -hold no host reports its last resource
// before a line is read. With -drift the last resource of each watched play drifts at once, and again after its repair.
// With -relays there are so many more hosts, each the relay of as many others, and no host has the host program at
// first. A relay has a shell and a disk, and is busy for -each with each delivery, one after the other; the other hosts
// keep no files, and accept a relay's login after -near. With -net their addresses begin so, and can be reached from
// elsewhere: they must be addresses of this machine.
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
	"runtime/debug"
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
	drift := flag.Bool("drift", false, "let watched resources drift")
	relays := flag.Int("relays", 0, "how many hosts are relays of the others")
	near := flag.Duration("near", 0, "how long a host takes to let a relay in")
	each := flag.Duration("each", 0, "how long each delivery takes a relay by itself")
	network := flag.String("net", "127.1", "how `addresses` of hosts begin")
	flag.Parse()
	f := &fleet{dir: *dir, rtt: *rtt, drift: *drift, relays: *relays, near: *near, each: *each, released: make(chan struct{})}
	if _, err := fmt.Sscanf(*network, "%d.%d", &f.network[0], &f.network[1]); err != nil {
		fmt.Fprintln(os.Stderr, "simfleet: -net:", err)
		os.Exit(1)
	}
	if err := f.run(*hosts, *programs, *hold); err != nil {
		fmt.Fprintln(os.Stderr, "simfleet:", err)
		os.Exit(1)
	}
}

func (f *fleet) run(hosts int, programs string, hold bool) error {
	list, err := builds.Load(programs)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no host programs, so no build id to greet with")
	}
	f.build, f.os, f.arch = list[0].ID, list[0].OS, list[0].Arch
	if !hold {
		close(f.released)
	}
	known, err := f.keys()
	if err != nil {
		return err
	}
	if f.relays > 0 {
		debug.SetGCPercent(400) // most memory is garbage at once
	}
	if err := f.makeRelays(); err != nil {
		return err
	}
	port, err := f.listen()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.dir, "known_hosts"), []byte(known(port)), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.dir, "hosts.yaml"), []byte(f.inventory(hosts, port)), 0o600); err != nil {
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
		took, err := processorTime()
		if err != nil {
			return err
		}
		fmt.Println("cpu", took, "bytes", f.bytes.Load(), "asked", f.asked.Load(), "mended", f.mended(), "sent", f.sent.Load())
		switch {
		case readErr == io.EOF:
			return nil
		case readErr != nil:
			return readErr
		}
	}
}

// processorTime returns the processor time of this process and its children.
func processorTime() (sum time.Duration, err error) {
	for _, whose := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if err := syscall.Getrusage(whose, &use); err != nil {
			return 0, err
		}
		sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	return sum, nil
}

// A fleet is the common state of all hosts.
type fleet struct {
	dir      string
	build    string
	rtt      time.Duration
	drift    bool
	relays   int
	near     time.Duration
	each     time.Duration
	network  [2]int // how addresses begin
	config   *ssh.ServerConfig
	greeted  atomic.Int64
	bytes    atomic.Int64  // sent and received, of SSH
	asked    atomic.Int64  // received messages, except pings
	released chan struct{} // closed when last results may be reported
	hosts    sync.Map      // addresses of watched hosts; true if something was applied since

	// With relays:
	homes     map[string]string // home directories of relays, by address
	os, arch  string            // system of all hosts
	taken     sync.Map          // hashes of the files from relays, by address
	installed sync.Map          // addresses of hosts that have the host program
	sent      atomic.Int64      // hosts that were sent it by the controller
}

// mended returns the number of hosts that applied a resource after they had been watched.
func (f *fleet) mended() (n int) {
	f.hosts.Range(func(_, applied any) bool {
		if applied.(bool) {
			n++
		}
		return true
	})
	return n
}

// keys creates the key of the hosts and the key of the login user, and returns a function that writes known_hosts.
func (f *fleet) keys() (known func(port int) string, err error) {
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
	isAllowed := func(key ssh.PublicKey) bool { return string(key.Marshal()) == string(allowed.Marshal()) }
	checker := &ssh.CertChecker{ // of workers and relays, whose own keys the fleet's certifies
		IsUserAuthority:          isAllowed,
		SupportedCriticalOptions: []string{forceCommand},
		UserKeyFallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !isAllowed(key) {
				return nil, errors.New("not the fleet's key")
			}
			return nil, nil
		},
	}
	f.config = &ssh.ServerConfig{PublicKeyCallback: checker.Authenticate}
	f.config.AddHostKey(hostKey)
	known = func(port int) string {
		return fmt.Sprintf("[%d.*]:%d %s", f.network[0], port, ssh.MarshalAuthorizedKey(hostKey.PublicKey()))
	}
	return known, os.WriteFile(filepath.Join(f.dir, "id"), pem.EncodeToMemory(block), 0o600)
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

func (f *fleet) inventory(hosts, port int) string {
	var b strings.Builder
	host := func(indent, name string, i int) {
		fmt.Fprintf(&b, "%s%s: {connect: {address: %s, port: %d, user: sim, private_key: %s, known_hosts: %s}}\n",
			indent, name, f.address(i), port, filepath.Join(f.dir, "id"), filepath.Join(f.dir, "known_hosts"))
	}
	b.WriteString("all:\n")
	if f.relays == 0 {
		b.WriteString("  hosts:\n")
		for i := range hosts {
			host("    ", fmt.Sprintf("sim%05d", i+1), i)
		}
		return b.String()
	}
	b.WriteString("  children:\n    sites:\n      children:\n")
	for site := range f.relays {
		fmt.Fprintf(&b, "        site%02d:\n          connect: {relay: relay%02d}\n          hosts:\n", site+1, site+1)
		for i := hosts * site / f.relays; i < hosts*(site+1)/f.relays; i++ {
			host("            ", fmt.Sprintf("sim%05d", i+1), f.relays+i)
		}
	}
	b.WriteString("    relays:\n      hosts:\n")
	for i := range f.relays {
		host("        ", fmt.Sprintf("relay%02d", i+1), i)
	}
	return b.String()
}

// address returns the address of a host; relays are the first ones.
func (f *fleet) address(i int) string {
	return fmt.Sprintf("%d.%d.%d.%d", f.network[0], f.network[1]+i/62500, i/250%250, 1+i%250)
}

func (f *fleet) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "simfleet:", err)
			time.Sleep(100 * time.Millisecond) // out of file descriptors, perhaps
			continue
		}
		from := conn.RemoteAddr().(*net.TCPAddr).IP
		if f.network[0] == 127 && !from.IsLoopback() {
			conn.Close()
			continue
		}
		conn = &countedConn{Conn: conn, bytes: &f.bytes}
		if f.rtt > 0 && f.homes[from.String()] == "" {
			conn = &farConn{Conn: conn, rtt: f.rtt}
		}
		go f.host(conn)
	}
}

// A countedConn counts sent and received bytes.
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
	login, channels, requests, err := ssh.NewServerConn(conn, f.config)
	if err != nil {
		return
	}
	forced := ""
	if login.Permissions != nil {
		forced = login.Permissions.CriticalOptions[forceCommand]
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go f.session(conn.LocalAddr().(*net.TCPAddr).IP.String(), forced, channel, requests)
	}
}

func (f *fleet) session(address, forced string, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		var payload struct{ Command string }
		isExec := r.Type == "exec" && ssh.Unmarshal(r.Payload, &payload) == nil
		if r.WantReply {
			r.Reply(isExec, nil)
		}
		if isExec {
			go ssh.DiscardRequests(requests)
			code := uint32(0)
			switch {
			case forced != "":
				f.take(address, channel, forced)
			case f.homes[address] != "":
				code = f.relay(address, f.homes[address], channel, payload.Command)
			default:
				f.serve(address, channel, payload.Command)
			}
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
			return
		}
	}
}

// arguments returns the arguments of a script, after its name, sh.
func arguments(command string) []string {
	words := strings.Fields(command[strings.LastIndexByte(command, '\'')+1:])
	return words[min(1, len(words)):]
}

// serve plays the host program, whose nonce comes first.
func (f *fleet) serve(address string, channel ssh.Channel, command string) {
	words := arguments(command)
	if len(words) < 1 {
		return
	}
	stdin := bufio.NewReader(channel)
	if f.relays > 0 && f.install(address, words[0], stdin, channel) != nil {
		return
	}
	if err := wire.WriteHello(channel, &wire.Hello{Nonce: words[0], Build: f.build, Facts: f.facts()}); err != nil {
		return
	}
	conn := wire.NewConn(stdin, channel, wire.MaxFromController)
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

// watched continues with a watched catalog.
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

// stable answers a catalog: all resources are stable.
func stable(c *wire.Catalog) []*wire.Message {
	var all []*wire.Message
	for i := range c.Entries {
		all = append(all, &wire.Message{Result: &wire.Result{Index: i, Duration: 50 * time.Microsecond}})
	}
	return append(all, &wire.Message{Done: &wire.Done{}})
}

// facts returns the facts of one more host: no two are equal.
func (f *fleet) facts() json.RawMessage {
	return fmt.Appendf(nil, `{"facts":{"host":{"info":{"hostname":"sim%d","os":"linux","platform":"debian","platformFamily":"debian",`+
		`"platformVersion":"12.11","kernelArch":"x86_64"}}}}`, f.greeted.Add(1))
}
