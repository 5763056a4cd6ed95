package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// A filter forwards messages between clients and a NATS server. The permissions of the server limit the subjects that a
// user publishes to. They do not limit the effect of a message: the server publishes its answer to any reply subject in
// the message, and the text of a JetStream request names other subjects. So the filter reads each message of a user with
// a role, and forwards it only if a rule of the role allows all of it.
type filter struct {
	dial   func() (net.Conn, error) // connects to the server
	tls    *tls.Config              // presented to clients
	users  func() ([]User, error)   // users that may log in
	proxy  nkeys.KeyPair            // authenticates this filter to the server; nil if the server is in this process
	own    *nats.Conn               // connection of the broker itself
	leases *leases
	say    func(string)

	mu    sync.Mutex
	conns map[*filtered]bool
	ended bool
	all   sync.WaitGroup
}

const loginTime = 10 * time.Second

// serve accepts clients until ctx ends.
func (f *filter) serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer f.all.Wait()
	defer f.shut()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil:
			f.all.Go(func() { f.client(conn) })
		case errors.Is(err, net.ErrClosed):
			return err
		default: // such as too many open files
			f.say("warning: accepting a connection: " + err.Error())
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// shut closes all connections. A connection that is being set up closes itself (see remember).
func (f *filter) shut() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.end(func(*filtered) bool { return true })
}

// end closes the connections of some users.
func (f *filter) end(which func(*filtered) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		if which(c) {
			c.close()
		}
	}
}

// changed closes the connections of users that were removed or have another role now.
func (f *filter) changed(users []User) {
	known := map[User]bool{}
	for _, u := range users {
		known[u] = true
	}
	f.end(func(c *filtered) bool { return c.user.Key != "" && !known[c.user] })
}

// filtered is one connection.
type filtered struct {
	*filter
	socket, server net.Conn
	user           User // set before the first message

	mu sync.Mutex // held while something is written to the client
	to *bufio.Writer
}

func (c *filtered) close() {
	c.socket.Close()
	c.server.Close()
}

func (f *filter) client(client net.Conn) {
	server, err := f.dial()
	if err != nil {
		f.say("warning: connecting to the server: " + err.Error())
		client.Close()
		return
	}
	c := &filtered{filter: f, socket: client, server: server}
	defer c.close()
	if !f.remember(c) {
		return
	}
	defer f.forget(c)
	_ = client.SetDeadline(time.Now().Add(loginTime))
	fromServer, toServer := bufio.NewReaderSize(server, 64<<10), bufio.NewWriterSize(server, 64<<10)
	fromClient, err := c.login(fromServer, toServer)
	if err != nil {
		return
	}
	var answers sync.WaitGroup
	defer answers.Wait()
	defer c.close()
	answers.Go(func() {
		defer c.close()
		c.answer(fromServer)
	})
	for {
		in, err := readFrame(fromClient)
		if err != nil {
			return
		}
		switch in.verb {
		case "PING", "PONG", "SUB", "UNSUB": // the server limits the subjects of SUB
		case "PUB", "HPUB":
			if refusal := c.judge(in); refusal != "" {
				if c.send(&frame{verb: "-ERR", text: "'" + refusal + "'"}, true) != nil {
					return
				}
				continue
			}
		default:
			_ = c.send(&frame{verb: "-ERR", text: "'Unknown Protocol Operation'"}, true)
			return
		}
		if in.write(toServer) != nil || fromClient.Buffered() == 0 && toServer.Flush() != nil {
			return
		}
	}
}

// connect has the fields of CONNECT that the filter forwards. It drops all others.
type connect struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Echo         *bool  `json:"echo,omitempty"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
	Protocol     int    `json:"protocol"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Nkey         string `json:"nkey"`
	Sig          string `json:"sig"`
	ProxySig     string `json:"proxy_sig,omitempty"`
}

// login forwards the INFO of the server and the CONNECT of the client, whose signature the server verifies.
func (c *filtered) login(fromServer *bufio.Reader, toServer *bufio.Writer) (*bufio.Reader, error) {
	greeting, err := readFrame(fromServer)
	if err != nil {
		return nil, err
	}
	var info struct{ Nonce string }
	if err := json.Unmarshal([]byte(greeting.text), &info); err != nil || greeting.verb != "INFO" {
		return nil, errors.New("the server did not send INFO")
	}
	plain := bufio.NewWriter(c.socket)
	c.to = plain
	if err := c.send(greeting, true); err != nil {
		return nil, err
	}
	secure := tls.Server(c.socket, c.tls)
	if err := secure.Handshake(); err != nil {
		return nil, err
	}
	c.to = bufio.NewWriterSize(secure, 64<<10)
	fromClient := bufio.NewReaderSize(secure, 64<<10)
	first, err := readFrame(fromClient)
	if err != nil {
		return nil, err
	}
	refuse := func() (*bufio.Reader, error) {
		_ = c.send(&frame{verb: "-ERR", text: "'Authorization Violation'"}, true)
		return nil, errors.New("authorization violation")
	}
	echo := true
	login := connect{Echo: &echo}
	if first.verb != "CONNECT" || json.Unmarshal([]byte(first.text), &login) != nil || login.Echo == nil {
		return refuse()
	}
	users, err := c.users()
	if err != nil {
		c.say("error: reading the users: " + err.Error())
		return refuse()
	}
	login.ProxySig = ""
	if c.proxy != nil {
		sig, err := c.proxy.Sign([]byte(info.Nonce))
		if err != nil {
			return nil, err
		}
		login.ProxySig = base64.RawURLEncoding.EncodeToString(sig)
	}
	text, err := json.Marshal(login)
	if err != nil {
		return nil, err
	}
	c.filter.mu.Lock() // end reads c.user under this lock
	for _, u := range users {
		if u.Key == login.Nkey {
			c.user = u
		}
	}
	c.filter.mu.Unlock()
	if c.user.Key == "" {
		return refuse()
	}
	_ = c.socket.SetDeadline(time.Time{})
	return fromClient, (&frame{verb: "CONNECT", text: string(text)}).write(toServer)
}

// remember reports whether the filter still serves.
func (f *filter) remember(c *filtered) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if f.conns == nil {
		f.conns = map[*filtered]bool{}
	}
	f.conns[c] = true
	return true
}

func (f *filter) forget(c *filtered) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// send writes a frame to the client, at once if flush.
func (c *filtered) send(f *frame, flush bool) error {
	if f.verb == "INFO" {
		text, err := greet(f.text)
		if err != nil {
			return err
		}
		f.text = text
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := f.write(c.to)
	if err == nil && flush {
		err = c.to.Flush()
	}
	return err
}

// greet changes the INFO of the server to an INFO of the filter: it requires TLS, and has no address of the server.
func greet(text string) (string, error) {
	info := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return "", err
	}
	for _, name := range []string{"connect_urls", "ws_connect_urls", "host", "port", "ip", "tls_verify"} {
		delete(info, name)
	}
	info["tls_required"], info["tls_available"] = json.RawMessage("true"), json.RawMessage("true")
	changed, err := json.Marshal(info)
	return string(changed), err
}

// answer forwards frames of the server, and records leases.
func (c *filtered) answer(fromServer *bufio.Reader) {
	for {
		out, err := readFrame(fromServer)
		if err != nil {
			return
		}
		if (out.verb == "MSG" || out.verb == "HMSG") && len(out.args) == 3 && c.user.Role == Worker {
			if err := c.leases.given(out.args[2], c.user.Key); err != nil {
				c.say("warning: recording a lease: " + err.Error())
				continue // the server sends the ticket again after LeaseTime
			}
		}
		if c.send(out, fromServer.Buffered() == 0) != nil {
			return
		}
	}
}

// judge returns the error for a message that no rule allows, in the format of the server; empty allows it. It may change
// the message.
func (c *filtered) judge(f *frame) string {
	if c.user.Role == Operator {
		return ""
	}
	r := &request{filter: c.filter, user: c.user, subject: f.args[0], headers: f.headers, body: f.data}
	if len(f.args) == 2 {
		r.reply = f.args[1]
	}
	if r.reply != "" && !literal(r.reply, c.user.inbox()) {
		return fmt.Sprintf("Permissions Violation for Publish with Reply of %q", clean(r.reply))
	}
	if !c.user.Role.allows(r) {
		return fmt.Sprintf("Permissions Violation for Publish to %q", clean(r.subject))
	}
	f.args[0], f.data = r.subject, r.body
	return ""
}

// clean removes single quotes from a text, which an error encloses in them.
func clean(text string) string { return strings.ReplaceAll(text, "'", "") }

// literal reports whether a subject has no wildcards and no empty tokens, and begins with a prefix.
func literal(subject, prefix string) bool {
	return strings.HasPrefix(subject, prefix) && server.IsValidLiteralSubject(subject)
}
