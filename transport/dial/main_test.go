package dial

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// targetOf returns the target to log in to srv.
func targetOf(srv *sshtest.Server) transport.Target {
	return transport.Target{
		Host: "web1", Address: srv.Host, Port: srv.Port, User: srv.User,
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
}

// wire is a connection in this process. Unlike the ends of a net.Pipe, both ends
// may write first, as SSH does.
func wire(t testing.TB) (a, b net.Conn) {
	a, a2 := net.Pipe()
	b, b2 := net.Pipe()
	var copying sync.WaitGroup
	t.Cleanup(func() {
		a.Close()
		b.Close()
		copying.Wait()
	})
	for _, p := range [][2]net.Conn{{a2, b2}, {b2, a2}} {
		copying.Go(func() {
			defer p[0].Close()
			io.Copy(p[0], p[1])
		})
	}
	return a, b
}

// masked replaces the changing parts of a message.
func masked(err error, pairs ...string) string {
	if err == nil {
		return ""
	}
	return strings.NewReplacer(pairs...).Replace(err.Error())
}

func newSigner(t testing.TB, keyType string) ssh.Signer { return sshtest.NewKey(t, keyType) }

func publicText(s ssh.Signer) string { return sshtest.PublicLine(s) }

func secret(text string) *transport.Secret { return transport.NewSecret([]byte(text)) }
