package relay

import (
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

// Validity is how long the certificate of a relay is good for.
const Validity = 10 * time.Minute

// Certify has an authority certify that the key of the relay can deliver a build, and do nothing else, to hosts
// where users, principals, log in. id is what their sshd logs.
func (r *Relay) Certify(ctx context.Context, a *usercert.Authority, b start.Build, principals []string, id string) (*ssh.Certificate, error) {
	command, err := start.TakeLine(r.nonce, b)
	if err != nil {
		return nil, err
	}
	return a.Certificate(ctx, usercert.Request{
		Key: r.key, ID: id, Principals: principals, ValidFor: Validity, ForceCommand: command, SourceAddresses: r.sources,
	})
}

// errNoRoute is why a relay is not asked to deliver to a host.
var errNoRoute = errors.New("how it is reached from here says nothing of how it is reached from the relay")

// sshFailed is the exit status of ssh(1) if it has come to no command.
const sshFailed = 255

// Deliver has the relay bring a build, which it has taken, to a host that is connected, and as the user who is
// logged in there. The path is where it is on that host then, in the words of the relay. No more than eight
// deliveries go on at once; the others wait.
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
	err = r.guard(ctx, func(func()) error {
		path, err = r.deliver(cert, b, t, key)
		return err
	})
	return path, err
}

func (r *Relay) deliver(cert *ssh.Certificate, b start.Build, t transport.Target, key ssh.PublicKey) (string, error) {
	id := "ccm-push-" + strconv.FormatInt(r.number.Add(1), 10)
	line, err := start.ShellLine(deliverScript, []string{r.nonce, id, b.CompressedSHA256, t.User, t.Address, strconv.Itoa(t.TCPPort())})
	if err != nil {
		return "", err
	}
	said := transport.NewStderr()
	command, err := r.client.Run(line, false, said)
	if err != nil {
		return "", err
	}
	defer command.Close()
	known := id + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(knownhosts.PlainKey(key))))
	// A failed write is explained by what ssh says.
	_, _ = io.WriteString(command.Stdin, string(ssh.MarshalAuthorizedKey(cert))+known+"\n")
	path, err := start.Taking(r.nonce, b, command.Stdout, func() error { return nil })
	if err == nil {
		return path, nil
	}
	ended := command.Wait()
	exit, _ := errors.AsType[*transport.ExitError](ended)
	last := transport.LastLine(said.String())
	switch {
	case errors.Is(ended, transport.ErrLost):
		return "", ended
	case exit != nil && exit.Code == sshFailed && last != "":
		err = fmt.Errorf("ssh on the relay says %s", transport.QuoteExcerpt(last))
	}
	return "", fmt.Errorf("delivering to %s: %w", t.Host, err)
}
