package natsconn

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// write makes a file of a test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLinkIsDialledOnce(t *testing.T) {
	url := natstest.Start(t)
	l := New(Config{Servers: url, Name: "a test"})
	first, err := l.Conn(t.Context())
	require.NoError(t, err)
	again, err := l.Conn(t.Context())
	require.NoError(t, err)
	require.Same(t, first, again)

	js, err := l.JetStream(t.Context())
	require.NoError(t, err)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
	require.NoError(t, err)
	_, err = kv.PutString(t.Context(), "key", "value")
	require.NoError(t, err)

	l.Close()
	l.Close()
	require.True(t, first.IsClosed())
	_, err = l.Conn(t.Context())
	require.EqualError(t, err, "the connection to NATS has been closed")
}

func TestNoServerListens(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := socket.Addr().String()
	socket.Close()
	l := New(Config{Servers: "nats://ann:hunter2@" + address})
	_, err = l.JetStream(t.Context())
	require.EqualError(t, err, "NATS at nats://"+address+": connecting: no servers available for connection; no server listens there")
	_, again := l.JetStream(t.Context())
	require.Same(t, err, again, "a run asks once")
}

// TestPublish publishes without acknowledgements: closing the link warns about messages that have not arrived.
func TestPublish(t *testing.T) {
	send := func(t *testing.T, url string, before func(*nats.Conn)) []string {
		var mu sync.Mutex
		var warned []string
		l := New(Config{Servers: url, Warn: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			warned = append(warned, text)
		}})
		conn, err := l.Conn(t.Context())
		require.NoError(t, err)
		before(conn)
		require.NoError(t, l.Publish(t.Context(), &nats.Msg{Subject: "told", Data: []byte("x")}))
		l.Close()
		require.True(t, conn.IsClosed())
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(warned)
	}
	t.Run("is heard", func(t *testing.T) {
		url := natstest.Start(t)
		listener, err := nats.Connect(url)
		require.NoError(t, err)
		defer listener.Close()
		sub, err := listener.SubscribeSync("told")
		require.NoError(t, err)
		require.NoError(t, listener.Flush())
		require.Empty(t, send(t, url, func(*nats.Conn) {}))
		msg, err := sub.NextMsg(time.Minute)
		require.NoError(t, err)
		require.Equal(t, "x", string(msg.Data))
	})
	t.Run("is refused", func(t *testing.T) {
		url := natstest.Start(t, func(o *server.Options) {
			o.Users = []*server.User{{Username: "ann", Password: "hunter2", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"told"}}}}}
		})
		warned := send(t, strings.Replace(url, "://", "://ann:hunter2@", 1), func(*nats.Conn) {})
		require.Contains(t, warned, `NATS at `+url+`: permissions violation: Permissions Violation for Publish to "told"`)
	})
	t.Run("the server has gone", func(t *testing.T) {
		srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
		require.NoError(t, err)
		srv.Start()
		require.True(t, srv.ReadyForConnections(time.Minute))
		url := srv.ClientURL()
		warned := send(t, url, func(conn *nats.Conn) {
			srv.Shutdown()
			srv.WaitForShutdown()
			require.Eventually(t, conn.IsReconnecting, time.Minute, time.Millisecond)
		})
		require.Contains(t, warned, "NATS at "+url+": the last messages may not have arrived: timeout")
	})
}

// TestConnectedAgain stops a server for a while: a warning reports that it is gone, and another one that it is back.
func TestConnectedAgain(t *testing.T) {
	warned := make(chan string, 10)
	begin := func(port int) *server.Server {
		srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true})
		require.NoError(t, err)
		srv.Start()
		require.True(t, srv.ReadyForConnections(time.Minute))
		return srv
	}
	end := func(srv *server.Server) {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
	srv := begin(server.RANDOM_PORT)
	port := srv.Addr().(*net.TCPAddr).Port
	l := New(Config{Servers: srv.ClientURL(), Outage: func(text string) { warned <- text }})
	defer l.Close()
	_, err := l.Conn(t.Context())
	require.NoError(t, err)
	for range 2 {
		end(srv)
		require.Contains(t, <-warned, "NATS at "+srv.ClientURL()+": the connection was lost, and is dialled again: ")
		srv = begin(port)
		require.Equal(t, "NATS at "+srv.ClientURL()+": it is connected again", <-warned)
	}
	end(srv)
}

// TestContextEndsDialling has a silent server: a caller whose context ends returns, and the next caller dials again.
func TestContextEndsDialling(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer socket.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	accepted := make(chan net.Conn)
	go func() {
		conn, err := socket.Accept()
		if err == nil {
			cancel(errors.New("the run has ended"))
			accepted <- conn
		}
	}()
	l := New(Config{Servers: "nats://" + socket.Addr().String()})
	defer l.Close()
	_, err = l.Conn(ctx)
	require.EqualError(t, err, "the run has ended")
	(<-accepted).Close()

	l.config.Servers = natstest.Start(t)
	_, err = l.Conn(t.Context())
	require.NoError(t, err)
}

// TestLinkOutlivesItsFirstContext: the connection that one host has opened stays open for others.
func TestLinkOutlivesItsFirstContext(t *testing.T) {
	l := New(Config{Servers: natstest.Start(t)})
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.Conn(ctx)
	require.NoError(t, err)
	cancel()
	conn, err := l.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.FlushTimeout(time.Minute))
}

func seed(t *testing.T) (public, file string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err = pair.PublicKey()
	require.NoError(t, err)
	secret, err := pair.Seed()
	require.NoError(t, err)
	return public, write(t, "user.nk", string(secret))
}

func TestLogins(t *testing.T) {
	public, file := seed(t)
	_, other := seed(t)
	url := natstest.Start(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public}}
		o.Users = []*server.User{{Username: "ann", Password: "hunter2"}}
	})
	address := strings.TrimPrefix(url, "nats://")
	folder := t.TempDir()
	for name, text := range map[string]string{
		"key":      `{"url": "` + url + `", "nkey": "` + file + `"}`,
		"password": `{"url": "` + url + `", "user": "ann", "password": "hunter2"}`,
		"wrong":    `{"url": "` + url + `", "user": "ann", "password": "hunter3"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".json"), []byte(text), 0o600))
	}
	const refused = ": connecting: Authorization Violation; give the credentials of a user with --nats-creds or --nats-nkey"
	for name, c := range map[string]struct {
		config Config
		err    string
	}{
		"a key":                   {Config{Servers: url, NKey: file}, ""},
		"another key":             {Config{Servers: url, NKey: other}, "NATS at " + url + refused},
		"nothing":                 {Config{Servers: url}, "NATS at " + url + refused},
		"a password":              {Config{Servers: "nats://ann:hunter2@" + address}, ""},
		"a wrong one":             {Config{Servers: "nats://ann:hunter3@" + address}, "NATS at " + url + refused},
		"a context":               {Config{Context: "key"}, ""},
		"with a password":         {Config{Context: "password"}, ""},
		"with a wrong one":        {Config{Context: "wrong"}, "NATS at " + url + refused},
		"a key wins over it":      {Config{Context: "wrong", NKey: file}, ""},
		"a server wins over that": {Config{Context: "key", Servers: "localhost:1"}, "NATS at nats://localhost:1: connecting: no servers available for connection; no server listens there"},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Contexts = folder
			c.config.Warn = func(text string) { t.Errorf("a warning: %s", text) }
			l := New(c.config)
			defer l.Close()
			_, err := l.Conn(t.Context())
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

// authority makes a CA, and a certificate of it for a name.
func authority(t *testing.T, name string) (ca string, cert tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	valid := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	top := valid
	top.IsCA, top.BasicConstraintsValid, top.KeyUsage = true, true, x509.KeyUsageCertSign
	signed, err := x509.CreateCertificate(rand.Reader, &top, &top, key.Public(), key)
	require.NoError(t, err)
	leaf := valid
	leaf.DNSNames = []string{name}
	end, err := x509.CreateCertificate(rand.Reader, &leaf, &top, key.Public(), key)
	require.NoError(t, err)
	return write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))), tls.Certificate{Certificate: [][]byte{end}, PrivateKey: key}
}

func TestTLS(t *testing.T) {
	ca, cert := authority(t, "localhost")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(natstest.Start(t, func(o *server.Options) {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	}), "tls://"))
	require.NoError(t, err)
	plain := natstest.Start(t)
	for name, c := range map[string]struct {
		config Config
		err    string
	}{
		"its CA":            {Config{Servers: "tls://localhost:" + port, CA: ca}, ""},
		"the system's":      {Config{Servers: "tls://localhost:" + port}, "NATS at tls://localhost:" + port + ": connecting: tls error: tls: failed to verify certificate: x509: certificate signed by unknown authority; give the CA that has signed its certificate with --nats-ca"},
		"it asks for it":    {Config{Servers: "nats://localhost:" + port, CA: ca}, ""},
		"another name":      {Config{Servers: "tls://127.0.0.1:" + port, CA: ca}, "NATS at tls://127.0.0.1:" + port + ": connecting: tls error: tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs; write a name that its certificate has"},
		"a server without":  {Config{Servers: "tls" + strings.TrimPrefix(plain, "nats")}, "NATS at tls" + strings.TrimPrefix(plain, "nats") + ": connecting: secure connection not available; the server does not offer TLS, but TLS is required for a tls:// URL, a CA, a certificate, or a password for another machine"},
		"and a CA for that": {Config{Servers: plain, CA: ca}, "NATS at " + plain + ": connecting: secure connection not available; the server does not offer TLS, but TLS is required for a tls:// URL, a CA, a certificate, or a password for another machine"},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(c.config)
			defer l.Close()
			_, err := l.Conn(t.Context())
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

// TestPasswordsAreNotSentInTheClear holds for all other machines than this one.
func TestPasswordsAreNotSentInTheClear(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"user":  `{"url": "nats://192.0.2.1", "user": "ann", "password": "hunter2"}`,
		"token": `{"url": "nats://192.0.2.1", "token": "hunter2"}`,
		"open":  `{"url": "nats://192.0.2.1"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".json"), []byte(text), 0o600))
	}
	for _, c := range []struct {
		name   string
		config Config
		secure bool
	}{
		{"a URL", Config{Servers: "nats://ann:hunter2@192.0.2.1"}, true},
		{"one of two", Config{Servers: "nats://192.0.2.1,nats://ann:hunter2@127.0.0.1"}, true},
		{"this machine", Config{Servers: "nats://ann:hunter2@127.0.0.1,ann:hunter2@localhost,ann:hunter2@[::1]"}, false},
		{"a context", Config{Context: "user"}, true},
		{"a token", Config{Context: "token"}, true},
		{"no password", Config{Context: "open"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Contexts = folder
			saved, err := c.config.context()
			require.NoError(t, err)
			_, opts, err := c.config.options(saved)
			require.NoError(t, err)
			var all nats.Options
			for _, opt := range opts {
				require.NoError(t, opt(&all))
			}
			require.Equal(t, c.secure, all.Secure)
		})
	}
}

func TestWrongConfig(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"nsc":    `{"url": "nats://a", "nsc": "nsc://o/a/u"}`,
		"proxy":  `{"url": "nats://a", "socks_proxy": "socks5://b"}`,
		"broken": `{"url": `,
		"empty":  `{}`,
		"secret": `{"url": "nats://ann:hunter2@ho st"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".json"), []byte(text), 0o600))
	}
	const notURL = "a server of NATS is not a URL: write nats://HOST:4222 or tls://HOST:4222 (ccm-push does not print the value, because it may contain a password)"
	garbage := write(t, "garbage", "hunter2")
	for _, c := range []struct {
		name   string
		config Config
		err    string
	}{
		{"no server", Config{}, "no NATS server is given; use --nats tls://HOST:4222 or --nats-context NAME"},
		{"another scheme", Config{Servers: "wss://a"}, "wss:// is not a supported scheme for NATS: write nats://HOST:4222 or tls://HOST:4222"},
		{"no URL", Config{Servers: "nats://a,nats://ann:hunter2@ho st"}, notURL},
		{"no host", Config{Servers: "nats://"}, notURL},
		{"no context", Config{Context: "none"}, `unknown NATS context "none" in ` + folder + ": add it with nats context add, or pass --nats URL"},
		{"a path", Config{Context: "../none"}, `context "../none" of NATS: write the name of a context, as nats context ls lists them`},
		{"nsc", Config{Context: "nsc"}, folder + "/nsc.json: nsc is not supported: write creds, or another way to the server"},
		{"a proxy", Config{Context: "proxy"}, folder + "/proxy.json: socks_proxy is not supported: write creds, or another way to the server"},
		{"no JSON", Config{Context: "broken"}, folder + "/broken.json: unexpected end of JSON input"},
		{"a context without a server", Config{Context: "empty"}, folder + "/empty.json: no NATS server is given; use --nats tls://HOST:4222 or --nats-context NAME"},
		{"a secret in a context", Config{Context: "secret"}, folder + "/secret.json: " + notURL},
		{"two logins", Config{Servers: "a", Creds: "a", NKey: "b"}, "--nats-creds and --nats-nkey are two ways to log in: give one"},
		{"no credentials", Config{Servers: "a", Creds: "/nowhere"}, "credentials of NATS: open /nowhere: no such file or directory"},
		{"no seed", Config{Servers: "a", NKey: garbage}, garbage + ": nkeys: no nkey seed found; it has the seed of a user, which begins with SU"},
		{"no CA", Config{Servers: "a", CA: "/nowhere"}, "authorities of NATS: open /nowhere: no such file or directory"},
		{"no key", Config{Servers: "a", Cert: garbage}, garbage + " is a certificate, but its key is missing; pass --nats-key FILE"},
		{"no certificate", Config{Servers: "a", Key: garbage}, "the file " + garbage + " is the key of a certificate, but the certificate is missing; pass --nats-cert FILE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Contexts = folder
			_, err := New(c.config).Conn(t.Context())
			require.EqualError(t, err, c.err)
		})
	}
}
