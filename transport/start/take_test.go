package start

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A taker runs the script that takes a file.
type taker struct {
	t           *testing.T
	interpreter []string
	home        string
	build       Build
	asked       string // SSH_ORIGINAL_COMMAND
	stderr      string
}

func (k *taker) cache() string { return filepath.Join(k.home, cacheDir) }
func (k *taker) file() string  { return filepath.Join(k.cache(), k.build.CompressedSHA256+".gz") }
func (k *taker) took() string  { return "took " + testNonce + " " + k.file() + "\n" }

func (k *taker) run(stdin []byte) string {
	k.t.Helper()
	line, err := TakeLine(testNonce, k.build)
	require.NoError(k.t, err)
	text, args, _ := strings.Cut(strings.TrimPrefix(line, "/bin/sh -c '"), "' ")
	cmd := exec.Command(k.interpreter[0], append(append(k.interpreter[1:len(k.interpreter):len(k.interpreter)], "-c", text), strings.Fields(args)...)...)
	cmd.Env = []string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH"), "SSH_ORIGINAL_COMMAND=" + k.asked}
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	k.stderr = stderr.String()
	return string(out)
}

func (k *taker) requireFiles(names ...string) {
	k.t.Helper()
	(&place{t: k.t}).requireFiles(k.cache(), names...)
}

const wants = "want " + testNonce + "\n"

func TestTake(t *testing.T) {
	for name, interpreter := range interpreters(t) {
		t.Run(name, func(t *testing.T) {
			for _, test := range takeTests {
				t.Run(test.name, func(t *testing.T) {
					b, err := packBuild(bytes.Repeat([]byte("program\n"), 10000))
					require.NoError(t, err)
					test.run(&taker{t: t, interpreter: interpreter, home: t.TempDir(), build: b}, b.compressed(t))
				})
			}
		})
	}
}

var takeTests = []struct {
	name string
	run  func(k *taker, packed []byte)
}{
	{"takes a file once", func(k *taker, packed []byte) {
		require.Equal(k.t, wants+k.took(), k.run(packed))
		text, err := os.ReadFile(k.file())
		require.NoError(k.t, err)
		require.Equal(k.t, packed, text)
		info, err := os.Stat(k.file())
		require.NoError(k.t, err)
		require.Equal(k.t, os.FileMode(0o600), info.Mode())
		k.asked = "take"
		require.Equal(k.t, k.took(), k.run(nil), "it has it")
		k.requireFiles(filepath.Base(k.file()))
	}},
	{"takes no other content", func(k *taker, packed []byte) {
		changed := bytes.Clone(packed)
		changed[len(changed)/2] ^= 1
		for _, other := range [][]byte{changed, packed[:len(packed)-1], nil, []byte("rm -rf /\n")} {
			require.Equal(k.t, wants+"fail "+testNonce+" hash\n", k.run(other))
			k.requireFiles()
		}
		require.Equal(k.t, wants+k.took(), k.run(append(packed, "more than it has asked for"...)))
		text, err := os.ReadFile(k.file())
		require.NoError(k.t, err)
		require.Equal(k.t, packed, text)
	}},
	{"replaces what is not the file", func(k *taker, packed []byte) {
		require.NoError(k.t, os.MkdirAll(k.cache(), 0o700))
		victim := filepath.Join(k.home, "victim")
		require.NoError(k.t, os.WriteFile(victim, packed, 0o600))
		require.NoError(k.t, os.Symlink(victim, k.file()))
		require.Equal(k.t, wants+k.took(), k.run(packed), "a link, even to what is right")
		info, err := os.Lstat(k.file())
		require.NoError(k.t, err)
		require.True(k.t, info.Mode().IsRegular())
		require.NoError(k.t, os.WriteFile(k.file(), []byte("other"), 0o600))
		require.Equal(k.t, wants+k.took(), k.run(packed))
		text, err := os.ReadFile(victim)
		require.NoError(k.t, err)
		require.Equal(k.t, packed, text)
	}},
	{"does nothing that it is asked for", func(k *taker, packed []byte) {
		for _, asked := range []string{"id", "sh", "internal-sftp", "scp -t /tmp", "take; id", "$(id)", "*", "take\nid"} {
			k.asked = asked
			require.Empty(k.t, k.run(packed), asked)
			require.Equal(k.t, "nothing but one file is taken here\n", k.stderr)
		}
		require.NoDirExists(k.t, k.cache())
	}},
	{"goes into no directory of others", func(k *taker, packed []byte) {
		refused := "fail " + testNonce + " nodir\n"
		require.NoError(k.t, os.MkdirAll(k.cache(), 0o700))
		for _, mode := range []os.FileMode{0o755, 0o770, 0o777} {
			require.NoError(k.t, os.Chmod(k.cache(), mode))
			require.Equal(k.t, refused, k.run(packed))
		}
		elsewhere := filepath.Join(k.home, "ccm-push")
		require.NoError(k.t, os.Chmod(k.cache(), 0o700))
		require.NoError(k.t, os.Rename(k.cache(), elsewhere))
		require.NoError(k.t, os.Symlink(elsewhere, k.cache()))
		require.Equal(k.t, refused, k.run(packed))
		(&place{t: k.t}).requireFiles(elsewhere)
		if os.Getuid() == 0 {
			require.NoError(k.t, os.Remove(k.cache()))
			require.NoError(k.t, os.Rename(elsewhere, k.cache()))
			require.NoError(k.t, os.Chown(k.cache(), 65534, 65534))
			require.Equal(k.t, refused, k.run(packed))
			k.requireFiles()
		}
	}},
	{"removes what is old", func(k *taker, packed []byte) {
		require.NoError(k.t, os.MkdirAll(k.cache(), 0o700))
		for name, days := range map[string]int{"old.gz": 3, "new.gz": 0, "program": 3} {
			file := filepath.Join(k.cache(), name)
			at := time.Now().AddDate(0, 0, -days)
			require.NoError(k.t, os.WriteFile(file, nil, 0o600))
			require.NoError(k.t, os.Chtimes(file, at, at))
		}
		require.Equal(k.t, wants+k.took(), k.run(packed))
		k.requireFiles("new.gz", "program", filepath.Base(k.file()))
	}},
}

func TestTaking(t *testing.T) {
	b, err := packBuild([]byte("x"))
	require.NoError(t, err)
	const dir = "/home/deploy/.cache/ccm-push/"
	file := b.CompressedSHA256 + ".gz"
	errWrite := errors.New("no way")
	for name, test := range map[string]struct {
		said, path, err string
		wanted          bool
		write           error
	}{
		"wanted":           {said: "motd\nwant N0NCE123\ntook N0NCE123 " + dir + file + "\n", path: dir + file, wanted: true},
		"there":            {said: "motd without an end took N0NCE123 " + dir + file + "\n", path: dir + file},
		"cannot be sent":   {said: "want N0NCE123\n", err: "no way", wanted: true, write: errWrite},
		"refused":          {said: "fail N0NCE123 nodir\n", err: `it cannot take the file: "nodir"`},
		"silent":           {said: "hello\n", err: "it does not confirm that it has the file"},
		"another nonce":    {said: "took NONCE999 " + dir + file + "\n", err: "it does not confirm that it has the file"},
		"cut short":        {said: "took N0NCE123 " + dir + file, err: "it does not confirm that it has the file"},
		"another file":     {said: "took N0NCE123 /etc/shadow\n", err: `it stored the file in an unexpected place: "/etc/shadow"`},
		"not a clean path": {said: "took N0NCE123 /home/../x/.cache/ccm-push/" + file + "\n", err: `it stored the file in an unexpected place: "/home/../x/.cache/ccm-push/` + file + `"`},
		"not a plain path": {said: "took N0NCE123 /h o/.cache/ccm-push/" + file + "\n", err: `it stored the file in an unexpected place: "/h o/.cache/ccm-push/` + file + `"`},
		"endless":          {said: strings.Repeat("x", 2*maxNoise), err: "it does not confirm that it has the file"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := false
			path, err := Taking("N0NCE123", b, strings.NewReader(test.said), func() error { wanted = true; return test.write })
			require.Equal(t, test.path, path)
			require.Equal(t, test.err, masked(err))
			require.Equal(t, test.wanted, wanted)
		})
	}
}

func FuzzTaking(f *testing.F) {
	b, err := packBuild([]byte("x"))
	require.NoError(f, err)
	f.Add("took N0NCE123 /root/.cache/ccm-push/" + b.CompressedSHA256 + ".gz\n")
	f.Fuzz(func(t *testing.T, said string) {
		path, err := Taking("N0NCE123", b, strings.NewReader(said), func() error { return nil })
		if err == nil {
			require.True(t, transport.IsPlainWord(path))
			require.True(t, strings.HasSuffix(path, "/.cache/ccm-push/"+b.CompressedSHA256+".gz"))
		}
	})
}

// TestNear copies a build to a host from another place than this machine.
func TestNear(t *testing.T) {
	b := hello(t)
	srv := sshtest.Start(t)
	file := filepath.Join(t.TempDir(), "brought.gz")
	require.NoError(t, os.WriteFile(file, b.compressed(t), 0o600))
	for _, test := range []struct {
		name            string
		near            string
		taken, uploaded bool
	}{
		{"it is there", file, true, false},
		{"nothing was brought", "", false, true},
		{"another file was brought", "/etc/hostname", false, true},
		{"what was said is no path", "/etc/host name", false, true},
		{"nor this", "relative", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(filepath.Join(srv.Home, cacheDir)))
			before, asked := srv.Stats(), 0
			r := newStart(b)
			r.Near = func(wanted Build) string {
				require.Equal(t, b.SHA256, wanted.SHA256)
				asked++
				return test.near
			}
			p, err := Program(t.Context(), connect(t, srv), r)
			require.NoError(t, err)
			require.Equal(t, []any{test.taken, test.uploaded, 1}, []any{p.Taken, p.Uploaded, asked})
			requireEcho(t, p)
			requireCached(t, srv, b)
			received := srv.Stats().Received - before.Received
			require.Equal(t, test.uploaded, received > b.CompressedSize, "%d bytes", received)
		})
	}
	r := newStart(b)
	r.Near = func(Build) string { t.Error("asked for what is there"); return "" }
	p, err := Program(t.Context(), connect(t, srv), r)
	require.NoError(t, err)
	requireEcho(t, p)
}

func TestWhoReadsWhatWasBrought(t *testing.T) {
	var nobody *Become
	require.True(t, nobody.readsLogin("deploy"))
	require.True(t, (&Become{}).readsLogin("deploy"))
	require.True(t, (&Become{User: "deploy"}).readsLogin("deploy"))
	require.False(t, (&Become{User: "app"}).readsLogin("deploy"))
}
