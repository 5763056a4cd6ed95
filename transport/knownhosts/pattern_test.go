package knownhosts

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestHostPatterns(t *testing.T) {
	for _, test := range []struct {
		patterns, addr string
		want           bool
	}{
		{"web1", "web1:22", true},
		{"WEB1", "web1:22", true},
		{"web1", "WEB1:22", true},
		{"web1", "web1:2222", false},
		{"[web1]:2222", "web1:2222", true},
		{"[web1]:2222", "web1:22", false},
		{"[web1]:22", "web1:22", true},
		{"db,web1", "web1:22", true},
		{"web*", "web1:22", true},
		{"web?", "web1:22", true},
		{"web?", "web10:22", false},
		{"*", "web1:2222", true},
		{"[*]:2222", "web1:2222", true},
		{"*,!web1", "web1:22", false},
		{"!web1,*", "web1:22", false},
		{"*,!web1", "web2:22", true},
		{"!web1", "web2:22", false},
		{"2001:db8::1", "[2001:db8::1]:22", true},
		{"[2001:db8::1]", "[2001:db8::1]:22", true},
		{"2001:db8::*", "[2001:db8::1]:22", true},
		{"2001:db8::1", "[2001:db8::1]:2222", false},
		{"[2001:db8::1]:2222", "[2001:db8::1]:2222", true},
		{`we[b]1*`, "web1:22", false},
		{`web\1*`, "web1:22", false},
		{"|1|x|y", "web1:22", false},
		{"|2|c2FsdA==|c2FsdA==", "web1:22", false},
		{"|", "web1:22", false},
		{",", "web1:22", false},
	} {
		t.Run(test.patterns+" "+test.addr, func(t *testing.T) {
			lines := parse("f", []byte(test.patterns+" "+sshtest.PublicLine(sshtest.NewKey(t, ""))))
			require.Len(t, lines, 1)
			require.Equal(t, test.want, lines[0].matches(strings.ToLower(NormalName(test.addr))))
		})
	}
}

// FuzzKnownHosts holds the reading of names against x/crypto: what that takes
// for a known key of the host, we do too. (The reverse does not hold: it
// refuses whole files, and its wildcards do not reach other ports.)
func FuzzKnownHosts(f *testing.F) {
	key := sshtest.NewKey(f, "ed25519").PublicKey()
	text := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	for _, names := range []string{"web1", "[web1]:2222", "*", "web?,!web2", "!web1,*", xknownhosts.HashHostname("web1"), xknownhosts.HashHostname("[web1]:2222"), "@revoked web1", "@cert-authority *", "@", "|1|", "a[b", `a\*`, "[web1]:22", "[*]:2222"} {
		f.Add(names, "web1", uint16(22))
		f.Add(names, "web1", uint16(2222))
	}
	f.Fuzz(func(t *testing.T, names, host string, port uint16) {
		if strings.ContainsAny(host, `[]:*?!,|/\ `) || strings.ContainsAny(names, "\n\r") || host == "" || strings.ToLower(host) != host {
			return
		}
		addr := net.JoinHostPort(host, fmt.Sprint(port))
		file := writeFile(t, names+" "+text+"\n")
		view, err := new(Store).Open(Files{AddTo: file, Read: []string{file}})
		if err != nil {
			require.True(t, strings.HasPrefix(strings.TrimSpace(names), "@"), "%v", err)
			return // where we are the stricter ones
		}
		err = view.Check(Host{Name: NormalName(addr), Principal: host}, key)
		callback, oracleErr := xknownhosts.New(file)
		if oracleErr != nil {
			return
		}
		if strings.Contains(names, "@cert-authority") || strings.Contains(names, "*") && strings.Contains(names, "!") {
			return // where we are the stricter ones
		}
		if callback(addr, &net.TCPAddr{}, key) == nil {
			require.NoError(t, err, "names %q, address %q", names, addr)
		}
	})
}
