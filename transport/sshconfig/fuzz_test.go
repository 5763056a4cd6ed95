package sshconfig

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// FuzzLoad reads arbitrary files: reading ends, two queries get the same answer, and errors have places.
func FuzzLoad(f *testing.F) {
	for _, path := range corpus(f) {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		f.Add(string(archive.Files[0].Data), "web1")
	}
	f.Fuzz(func(t *testing.T, text, host string) {
		path := filepath.Join(t.TempDir(), "config")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c, err := Load(environment("/nonexistent"), File{Path: path, User: true, Named: true})
		if err != nil {
			require.Contains(t, err.Error(), path)
			return
		}
		s, err := c.Resolve(Query{Host: host})
		again, errAgain := c.Resolve(Query{Host: host})
		require.Equal(t, s, again)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(errAgain))
		if err != nil {
			require.Contains(t, err.Error(), path)
			return
		}
		for o := range options {
			if set := s.Setting(o); set != nil {
				require.NotEmpty(t, set.Values)
				require.Len(t, set.Origins, len(set.Values))
			}
		}
	})
}

// TestGeneratedParity holds configurations that are made up of likely parts against
// the ssh of this machine.
func TestGeneratedParity(t *testing.T) {
	needSSH(t)
	defaults, all := liveDefaults(t), liveAlgorithms(t)
	generated := 600
	if testing.Short() {
		generated /= 10
	}
	for seed := range generated {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		text := makeUp(r)
		d := dumper{dir: t.TempDir(), env: Environment{LocalUser: liveUser(t).Username, Home: liveUser(t).HomeDir, LookupEnv: lookupEnv}, defaults: defaults, all: all}
		require.NoError(t, os.WriteFile(filepath.Join(d.dir, "config"), []byte(text), 0o600))
		q := question{text: "web1", args: []string{"web1"}}
		want, got := d.theirs(t, q), d.ours(t, q)
		if strings.HasPrefix(want, noPlace) { // unknown options are reported if there is no other mistake
			want, got = noPlace, asVague(noPlace, got)
		}
		require.Equal(t, want, got, "seed %d:\n%q", seed, text)
	}
}

// makeUp writes a configuration, now and then one with a mistake.
func makeUp(r *rand.Rand) string {
	var b strings.Builder
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	patterns := func() string {
		return pick("web1", "web*", "*", "db1", "!web1", "w?b1", "web1.example.com", "real", "r*", `"web1"`, "'we b'", `we\ b`, "web1,db1", "#x")
	}
	for range r.IntN(14) {
		b.WriteString(pick("", " ", "\t", "  \t"))
		name, value := "", ""
		switch r.IntN(13) {
		case 0, 1:
			name, value = "Host", patterns()
			for range r.IntN(3) {
				value += pick(" ", "  ", "\t") + patterns()
			}
		case 2:
			name, value = "Match", pick("host ", "originalhost ", "user ", "localuser ", "!host ", "final host ", "!final user ", "host=", "canonical ", "")+pick("web1", "*", "real,web1", "!web1,*", "all", `"web1"`, "bob", "x # y")
		case 3:
			name, value = "HostName", pick("real", "%h.example.com", "REAL", "10.1.2.3", "%%x", "::1", `"re al"`)
		case 4:
			name, value = "Port", pick("22", "2201", "0", "x", "00099", "65536", "ssh", "+22", "22 23", `"24"`)
		case 5:
			name, value = "User", pick("bob", "root", `"a b"`, `a\b`, "a#b", "#", "''", `x"y"z`, "=bob")
		case 6:
			name, value = pick("IdentityFile", "CertificateFile"), pick("~/a", "/b", "~/a", "%d/c", "none", `"x y"`)
		case 7:
			name, value = pick("ProxyJump", "ProxyCommand"), pick("none", "a", "u@b:22,c", "nc %h", "a,,b", "[::1]:22", "ssh://u@h", "x # y", `"q"`)
		case 8:
			name, value = pick("UserKnownHostsFile", "GlobalKnownHostsFile"), pick("none", "~/a b", "a none", "%h-%n", "${SITE}", "/dev/null", `""`)
		case 9:
			name, value = pick("ConnectTimeout", "ServerAliveInterval"), pick("none", "5", "1m", "1M30S", "x", "-1", "0", "1w1")
		case 10:
			name, value = pick("IdentitiesOnly", "StrictHostKeyChecking", "HashKnownHosts", "PasswordAuthentication", "AddressFamily"), pick("yes", "no", "TRUE", "false", "ask", "accept-new", "inet", "any", "off")
		case 11:
			name, value = pick("IgnoreUnknown", "Colour", "# comment"), pick("Colour", "c*", "yes")
		case 12: // names that ssh does not know are allowed here
			name, value = pick("Ciphers", "ForwardAgent", "HostKeyAlias"), pick("+aes128-cbc", "-*cbc", "^aes256-ctr", "aes256-ctr,aes128-ctr", "''")
			if name == "ForwardAgent" {
				value = "yes"
			}
		}
		b.WriteString(pick(name, name, strings.ToLower(name), strings.ToUpper(name)))
		b.WriteString(pick(" ", " ", " ", "  ", "\t", "=", " = ", "= "))
		b.WriteString(value + pick("", "", "", " ", "\t", " # said", "\r"))
		b.WriteString(pick("\n", "\n", "\n", "\n\n"))
	}
	return b.String()
}
