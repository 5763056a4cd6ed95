package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
	"github.com/ccm-push/ccm-push/transport/start"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// Validity is the lifetime of a relay's certificate.
const Validity = 10 * time.Minute

// Certify has an authority certify that the key of the relay can deliver a build, and do nothing else, to hosts where
// principals log in. The hosts' sshd logs id.
func (r *Relay) Certify(ctx context.Context, a *usercert.Authority, b start.Build, principals []string, id string) (*ssh.Certificate, error) {
	command, err := start.TakeLine(r.nonce, b)
	if err != nil {
		return nil, err
	}
	return a.Certificate(ctx, usercert.Request{
		Key: r.key, ID: id, Principals: principals, ValidFor: Validity, ForceCommand: command, SourceAddresses: r.sources,
	})
}

// errNoRoute explains why a relay does not deliver to a host.
var errNoRoute = errors.New("the relay cannot use the connection settings of this machine")

// sshFailed is the exit status of ssh(1) if it has not run the command.
const sshFailed = "255"

// Deliver makes the relay copy a build that it holds to a connected host, as the login user of the host. It returns the
// path on the host, as the relay reports it. At most 32 deliveries run at once, fewer if the relay has little memory;
// the others wait.
func (r *Relay) Deliver(ctx context.Context, cert *ssh.Certificate, b start.Build, to *transport.Client) (path string, err error) {
	t, key := to.Target(), to.HostKey()
	if t.Local || t.ProxyCommand != "" || t.KnownAt != "" || key == nil {
		return "", errNoRoute
	}
	select {
	case r.free <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-r.free }()
	return r.deliver(ctx, cert, b, t, key)
}

// errSlow ends a delivery that takes too long.
var errSlow = errors.New("it is not done yet")

func (r *Relay) deliver(ctx context.Context, cert *ssh.Certificate, b start.Build, t transport.Target, key ssh.PublicKey) (string, error) {
	d, err := r.begin(cert, b, t, key)
	if err != nil {
		return "", err
	}
	defer r.forget(d)
	defer context.AfterFunc(ctx, func() { d.in.CloseWithError(context.Cause(ctx)) })()
	defer time.AfterFunc(r.limit, func() { d.in.CloseWithError(errSlow) }).Stop()
	said := transport.NewStderr()
	path, err := start.Taking(r.nonce, b, io.TeeReader(d.out, said), func() error { return nil })
	if err == nil {
		return path, nil
	}
	_, ended := io.Copy(said, d.out)
	last := transport.LastLine(said.String())
	switch {
	case errors.Is(ended, errSlow):
		// Either that host is slow, or there is no relay any more.
		if err := r.guard(ctx, func(func()) error { return r.client.Ping() }); err != nil {
			return "", err
		}
		err = fmt.Errorf("%w, after %s", errSlow, r.limit)
	case ended != nil:
		return "", ended
	case d.code == sshFailed && last != "":
		err = fmt.Errorf("ssh on the relay reports %s", transport.QuoteExcerpt(last))
	}
	return "", fmt.Errorf("delivering to %s: %w", t.Host, err)
}

// A delivery is under way.
type delivery struct {
	id   string
	out  *io.PipeReader // output of the delivery; ends with an error if the relay has
	in   *io.PipeWriter
	code string // with which ssh has ended, when out has
}

// begin orders a delivery.
func (r *Relay) begin(cert *ssh.Certificate, b start.Build, t transport.Target, key ssh.PublicKey) (*delivery, error) {
	d, err := r.expect()
	if err != nil {
		return nil, err
	}
	words := append([]string{d.id, b.CompressedSHA256, t.User, t.Address, strconv.Itoa(t.TCPPort())}, r.certify(cert))
	words = append(words, strings.Fields(string(ssh.MarshalAuthorizedKey(knownhosts.PlainKey(key))))...)
	for _, w := range words {
		if !transport.IsPlainWord(w) {
			r.forget(d)
			return nil, fmt.Errorf("%q cannot be sent to a relay: only letters, digits and the characters _.,:/=@%%+- are allowed", w)
		}
	}
	r.order("to", words...)
	return d, nil
}

// expect reserves a place for the output of a new delivery.
func (r *Relay) expect() (*delivery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deliveries == nil {
		return nil, r.lost()
	}
	r.number++
	d := &delivery{id: "ccm-push-" + strconv.Itoa(r.number)}
	d.out, d.in = io.Pipe()
	r.deliveries[d.id] = d
	return d, nil
}

// forget has no room for it any more.
func (r *Relay) forget(d *delivery) {
	d.out.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.deliveries, d.id)
}

// lost returns why the output of the keeper has ended.
func (r *Relay) lost() error {
	if err := r.keeper.Wait(); errors.Is(err, transport.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: the process that holds the key of the relay has ended", transport.ErrLost)
}

// order sends an order to the keeper. After a failed write, its output ends.
func (r *Relay) order(word string, words ...string) {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, _ = io.WriteString(r.keeper.Stdin, word+" "+strings.Join(words, " ")+"\n")
}

// certify sends a certificate to the keeper once, and returns its name there.
func (r *Relay) certify(cert *ssh.Certificate) (name string) {
	r.naming.Lock()
	defer r.naming.Unlock()
	if name = r.names[cert]; name == "" {
		name = "c" + strconv.Itoa(len(r.names))
		r.names[cert] = name
		r.order("cert", name, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(cert))))
	}
	return name
}

// hear reads the output of the keeper, until it ends.
func (r *Relay) hear(said *bufio.Reader) {
	for {
		line, err := said.ReadSlice('\n')
		if err != nil {
			break
		}
		id, text, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
		r.mu.Lock()
		d := r.deliveries[id]
		r.mu.Unlock()
		switch code, ended := strings.CutPrefix(text, "ended "); {
		case d == nil:
		case ended:
			d.code = code
			d.in.Close()
		default:
			_, _ = io.WriteString(d.in, text+"\n") // the reader may have ended
		}
	}
	r.client.HangUp() // it may have said too much
	r.mu.Lock()
	left := r.deliveries
	r.deliveries = nil
	r.mu.Unlock()
	for _, d := range left {
		d.in.CloseWithError(r.lost())
	}
}
