package broker

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
)

var frames = []string{
	"PING\r\n",
	"pub ccm-push.said.x 5\r\nhello\r\n",
	"PUB a b 0\r\n\r\n",
	"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
	"HPUB a b 24 26\r\nNATS/1.0\r\nName: v al\r\n\r\nhi\r\n",
	"HMSG a 1 39 39\r\nNATS/1.0 409 Consumer is push based\r\n\r\n\r\n",
	"MSG a 1 $JS.ACK.x 2\r\nhi\r\n",
	"SUB a.> 1\r\n", "SUB a q 1\r\n", "UNSUB 1 5\r\n", "CONNECT {\"nkey\":\"U\"}\r\n", "-ERR 'Permissions Violation'\r\n", "+OK\r\n",
}

func TestFrames(t *testing.T) {
	for _, text := range frames {
		in, err := readFrame(bufio.NewReader(strings.NewReader(text)))
		require.NoError(t, err, text)
		require.Equal(t, strings.Replace(text, "pub", "PUB", 1), written(t, in))
	}
}

func written(t testing.TB, f *frame) string {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	require.NoError(t, f.write(w))
	require.NoError(t, w.Flush())
	return out.String()
}

func TestFramesThatAreNone(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"PUB a\r\n", "PUB has 1 words"},
		{"PUB a b c 1\r\n", "PUB has 4 words"},
		{"PUB a -1\r\n", `"-1" is not a size up to 67108864`},
		{"PUB a 99999999999\r\n", `"99999999999" is not a size up to 67108864`},
		{"PUB a 1\r\nxx\r\n", "a payload is longer than its size"},
		{"HPUB a 5 4\r\nxxxx\r\n", "headers of 5 bytes in a message of 4"},
		{"HPUB a 4 4\r\nxxxx\r\n", "headers without an end"},
		{"HPUB a 8 8\r\nxx/1\r\n\r\n\r\n", "headers without a version"},
		{"HPUB a 18 18\r\nNATS/1.0\r\na b:\r\n\r\n\r\n", `"a b:" is not a header`},
		{"HPUB a 18 18\r\nNATS/1.0\r\na:\rb\r\n\r\n\r\n", `"a:\rb" is not a header`},
		{"PUB a 5\r\nxx", "unexpected EOF"},
		{strings.Repeat("x", maxLine+1) + "\r\n", "a line is longer than 65536 bytes"},
	} {
		_, err := readFrame(bufio.NewReader(strings.NewReader(c.text)))
		require.EqualError(t, err, c.err, c.text)
	}
}

// FuzzFrame reads a frame, writes it, and reads it again: both are equal.
func FuzzFrame(f *testing.F) {
	for _, text := range frames {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := readFrame(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		out := written(t, in)
		r := bufio.NewReader(strings.NewReader(out))
		again, err := readFrame(r)
		require.NoError(t, err, out)
		require.Equal(t, out, written(t, again))
		_, err = r.ReadByte()
		require.Error(t, err, "one frame is written as one")
	})
}

// FuzzRequest checks any request of any role. If a rule allows it, the filter must be able to write it as it was
// checked.
func FuzzRequest(f *testing.F) {
	for _, role := range Roles {
		for _, one := range role.rules() {
			f.Add(string(role), subjectsOf(one.subject)[0], "_INBOX.U.x", []byte(`{"batch":1}`))
		}
	}
	f.Fuzz(func(t *testing.T, role, subject, reply string, body []byte) {
		if Role(role) == Operator || strings.Contains(subject, "CONSUMER.DELETE") || strings.Contains(subject, "MSG.NEXT") || strings.Contains(subject, "$JS.FC") {
			return // these query the server
		}
		c := &filtered{filter: &filter{leases: &leases{file: filepath.Join(t.TempDir(), "leases")}}, user: User{Key: "U", Role: Role(role)}}
		in := &frame{verb: "PUB", args: []string{subject, reply}, data: body}
		if c.judge(in) == "" {
			require.True(t, strings.HasPrefix(reply, "_INBOX.U.") || reply == "")
			written(t, in)
		}
	})
}

func pool(ca *authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(ca.cert)
	return p
}

// TestLogin connects with invalid logins.
func TestLogin(t *testing.T) {
	dir, seed := filepath.Join(t.TempDir(), "broker"), filepath.Join(t.TempDir(), "ann.nk")
	require.NoError(t, (&Broker{Dir: dir}).AddUser("ann", Reader, seed))
	r := start(t, dir)
	users, err := r.Users()
	require.NoError(t, err)
	ca, err := openAuthority(dir, time.Now())
	require.NoError(t, err)
	other, err := nkeys.CreateUser()
	require.NoError(t, err)
	stranger, err := other.PublicKey()
	require.NoError(t, err)
	for _, c := range []struct{ name, send, want string }{
		{"no user", "CONNECT {}\r\nPING\r\n", "-ERR 'Authorization Violation'\r\n"},
		{"a stranger", `CONNECT {"nkey":"` + stranger + `"}` + "\r\nPING\r\n", "-ERR 'Authorization Violation'\r\n"},
		{"a key without a signature", `CONNECT {"nkey":"` + users[0].Key + `"}` + "\r\nPING\r\n", "-ERR 'Authorization Violation'\r\n"},
		{"a signature of another", `CONNECT {"nkey":"` + users[0].Key + `","sig":"AAAA","proxy_sig":"AAAA"}` + "\r\nPING\r\n", "-ERR 'Authorization Violation'\r\n"},
		{"a message before the login", "PUB a 1\r\nx\r\n", "-ERR 'Authorization Violation'\r\n"},
		{"another protocol", "GET / HTTP/1.1\r\n", "-ERR 'Authorization Violation'\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket, err := net.Dial("tcp", r.address)
			require.NoError(t, err)
			defer socket.Close()
			require.NoError(t, socket.SetDeadline(time.Now().Add(time.Minute)))
			line := make([]byte, 1)
			for line[0] != '\n' { // the greeting, which is not encrypted
				_, err = socket.Read(line)
				require.NoError(t, err)
			}
			secure := tls.Client(socket, &tls.Config{RootCAs: pool(ca), ServerName: "localhost"})
			_, err = secure.Write([]byte(c.send))
			require.NoError(t, err)
			text := make([]byte, 1<<16)
			var all string
			for err == nil {
				var n int
				n, err = secure.Read(text)
				all += string(text[:n])
			}
			require.Equal(t, c.want, all)
		})
	}
}
