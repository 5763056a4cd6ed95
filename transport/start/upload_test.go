package start

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// withoutGzip gives commands a PATH with the programs that the script needs, except gzip.
func withoutGzip(t *testing.T, and ...string) sshtest.Option {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"uname", "ls", "id", "mkdir", "chmod", "rm", "mv", "head", "tee", "sha256sum", "find", "sleep"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	return sshtest.Env("PATH=" + strings.Join(append(and, bin), ":"))
}

func TestUpload(t *testing.T) {
	srv := sshtest.Start(t, withoutGzip(t))
	b := hello(t)
	c := connect(t, srv)
	for i, want := range []struct {
		uploaded        bool
		execs, sessions int64
	}{{true, 2, 3}, {false, 1, 1}} {
		before, start := srv.Stats(), newStart(b)
		p, err := Program(t.Context(), c, start)
		require.NoError(t, err)
		require.Equal(t, want.uploaded, p.Uploaded)
		requireGreeting(t, srv, start, p)
		requireEcho(t, p)
		requireCached(t, srv, b)
		after := srv.Stats()
		require.Equal(t, want.execs, after.Execs-before.Execs, i)
		require.Equal(t, want.sessions, after.Sessions-before.Sessions, i)
	}
	program, err := os.ReadFile(filepath.Join(srv.Home, cacheDir, b.SHA256))
	require.NoError(t, err)
	require.Equal(t, unpack(t, b), program)
}

// TestUploadReplaces has a copy that passes the start check and does not start.
func TestUploadReplaces(t *testing.T) {
	srv := sshtest.Start(t, withoutGzip(t))
	b := hello(t)
	require.NoError(t, os.MkdirAll(filepath.Join(srv.Home, cacheDir), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(srv.Home, cacheDir, b.SHA256), make([]byte, b.Size), 0o700))
	p, err := Program(t.Context(), connect(t, srv), newStart(b))
	require.NoError(t, err)
	require.True(t, p.Uploaded)
	requireEcho(t, p)
	requireCached(t, srv, b)
}

// TestUploadElsewhere has a home that does not do.
func TestUploadElsewhere(t *testing.T) {
	srv := sshtest.Start(t, withoutGzip(t))
	require.NoError(t, os.WriteFile(filepath.Join(srv.Home, ".cache"), nil, 0o600))
	b := ownBuild(t)
	dir := fmt.Sprintf("/var/tmp/ccm-push-%d", os.Getuid())
	t.Cleanup(func() { removeBuild(b, dir) })
	p, err := Program(t.Context(), connect(t, srv), newStart(b))
	require.NoError(t, err)
	require.True(t, p.Uploaded)
	requireEcho(t, p)
	require.FileExists(t, filepath.Join(dir, b.SHA256))
}

// TestUploadInTheWay puts an object that must not be replaced in the place of the build.
func TestUploadInTheWay(t *testing.T) {
	srv := sshtest.Start(t, withoutGzip(t), openSSH(t))
	b := hello(t)
	require.NoError(t, os.MkdirAll(filepath.Join(srv.Home, cacheDir, b.SHA256), 0o700))
	start := fixedStart(b)
	_, err := Program(t.Context(), connect(t, srv), start)
	require.EqualError(t, err, fmt.Sprintf("web1: install %s: the host program was not installed: gzip is missing on the host, and the upload by SFTP failed: "+
		"writing .cache/ccm-push/.%s: sftp: \"Failure\" (SSH_FX_FAILURE)\n  hint: install gzip on the host", srv.Addr, fixedNonce))
	left, err := os.ReadDir(filepath.Join(srv.Home, cacheDir))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// openSSH has OpenSSH's server of SFTP.
func openSSH(t *testing.T) sshtest.Option {
	t.Helper()
	for _, dir := range []string{"/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh", "/usr/libexec"} {
		program := filepath.Join(dir, "sftp-server")
		if _, err := os.Stat(program); err != nil {
			continue
		}
		return sshtest.SFTP(func(home string, channel io.ReadWriteCloser) {
			cmd := exec.Command(program, "-d", home)
			cmd.Stdin, cmd.Stdout = channel, channel
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	needs.Missing(t, "sftp-server of OpenSSH")
	return nil
}

func TestUploadToOpenSSH(t *testing.T) {
	srv := sshtest.Start(t, withoutGzip(t), openSSH(t))
	c := connect(t, srv)
	for _, uploaded := range []bool{true, false} {
		p, err := Program(t.Context(), c, newStart(hello(t)))
		require.NoError(t, err)
		require.Equal(t, uploaded, p.Uploaded)
		requireEcho(t, p)
		requireCached(t, srv, hello(t))
	}
}

func TestUploadDir(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/a b/.cache/ccm-push": cacheDir,
		"/.cache/ccm-push":          cacheDir,
		"/var/tmp/ccm-push-1000":    "/var/tmp/ccm-push-1000",
		"/tmp/ccm-push-0":           "/tmp/ccm-push-0",
		"/tmp/ccm-push-":            "",
		"/tmp/ccm-push-0/../x":      "",
		"/tmp/ccm-push-\x1b":        "",
		"/etc":                      "",
		"x.cache/ccm-push":          "",
		"":                          "",
	} {
		have, ok := uploadDir(dir)
		require.Equal(t, want != "", ok, dir)
		if ok {
			require.Equal(t, want, have)
		}
	}
}

// A reply returns a faulty SFTP server's answer to a packet: its type and the bytes after the request number. If empty,
// there is no answer.
type reply func(kind byte, body []byte) []byte

// The numbers of draft-ietf-secsh-filexfer-02, 3 and 7.
const (
	sftpInit, sftpVersion                    = 1, 2
	sftpOpen, sftpClose, sftpRead, sftpWrite = 3, 4, 5, 6
	sftpRemove, sftpRmdir                    = 13, 15
	sftpStatus, sftpHandle, sftpData         = 101, 102, 103
)

func status(code uint32, text string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{sftpStatus}, code)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return binary.BigEndian.AppendUint32(append(b, text...), 0)
}

func text(kind byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(s))), s...)
}

// agreeable accepts every request, and reads return zeros without end.
func agreeable(kind byte, body []byte) []byte {
	switch kind {
	case sftpOpen:
		return text(sftpHandle, "h")
	case sftpRead:
		return text(sftpData, string(make([]byte, binary.BigEndian.Uint32(body[len(body)-4:]))))
	}
	return status(0, "")
}

// serve answers packets until the channel ends.
func (r reply) serve(_ string, channel io.ReadWriteCloser) {
	for {
		var size [4]byte
		if _, err := io.ReadFull(channel, size[:]); err != nil {
			return
		}
		packet := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(channel, packet); err != nil {
			return
		}
		var answer []byte
		if packet[0] == sftpInit {
			answer = append([]byte{sftpVersion, 0, 0, 0, 3}, append(text(0, "posix-rename@openssh.com")[1:], text(0, "1")[1:]...)...)
		} else if answer = r(packet[0], packet[5:]); len(answer) > 0 {
			answer = slices.Insert(answer, 1, packet[1:5]...)
		}
		if len(answer) > 0 {
			channel.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
		}
	}
}

// only changes what an agreeable server answers to packets of one kind.
func only(kind byte, change func(body []byte) []byte) sshtest.Option {
	return sshtest.SFTP(reply(func(k byte, body []byte) []byte {
		if k == kind {
			return change(body)
		}
		return agreeable(k, body)
	}).serve)
}

// hear waits for the first packet of a client.
func hear(c io.Reader) { io.ReadFull(c, make([]byte, 9)) }

// honest serves the files below home.
func honest(home string, channel io.ReadWriteCloser) {
	server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(home))
	if err == nil {
		server.Serve()
	}
}

func TestUploadErrors(t *testing.T) {
	b := hello(t)
	const gzip = "web1: install ADDR: the host program was not installed: gzip is missing on the host"
	const hint = "\n  hint: install gzip on the host"
	const writing = gzip + ", and the upload by SFTP failed: writing .cache/ccm-push/." + fixedNonce + ": "
	const timeout = "web1: install ADDR: timed out after 300ms"
	const elsewhere = gzip + ", so the host program was sent by SFTP, but the login shell does not find the program" + hint
	swap := func(change func(cached string) error) sshtest.Option {
		return sshtest.SFTP(func(home string, channel io.ReadWriteCloser) {
			honest(home, channel)
			if err := change(filepath.Join(home, cacheDir, b.SHA256)); err != nil {
				t.Error(err)
			}
			channel.Close()
		})
	}
	for _, test := range []struct {
		name string
		sftp sshtest.Option
		dumb func(falls func()) sshtest.Option // ends only because nothing moves since it fell silent
		err  string
		is   error
	}{
		{name: "no subsystem", sftp: sshtest.NoSFTP(), is: transport.ErrInstall, err: gzip + ", and the upload by SFTP failed: opening SFTP: ssh: subsystem request failed" + hint},
		{name: "a subsystem that ends", sftp: sshtest.SFTP(func(_ string, c io.ReadWriteCloser) { hear(c) }), is: transport.ErrInstall,
			err: gzip + ", and the upload by SFTP failed: opening SFTP: error receiving version packet from server: server unexpectedly closed connection: unexpected EOF: the SFTP server has ended" + hint},
		{name: "a shell that greets", sftp: sshtest.SFTP(func(_ string, c io.ReadWriteCloser) { hear(c); io.WriteString(c, "Welcome to web1\n") }), is: transport.ErrInstall,
			err: gzip + ", and the upload by SFTP failed: opening SFTP: error receiving version packet from server: packet too long" + hint},
		{name: "silent", dumb: func(falls func()) sshtest.Option {
			return sshtest.SFTP(func(_ string, c io.ReadWriteCloser) { falls(); io.Copy(io.Discard, c) })
		}, is: transport.ErrTimeout, err: timeout},
		{name: "endless version", sftp: sshtest.SFTP(func(_ string, c io.ReadWriteCloser) {
			c.Write([]byte{0, 3, 0, 0, sftpVersion, 0, 0, 0, 3})
			for _, err := c.Write(make([]byte, 1<<10)); err == nil; _, err = c.Write(make([]byte, 1<<10)) {
			}
		}), is: transport.ErrInstall, err: gzip + ", and the upload by SFTP failed: opening SFTP: error receiving version packet from server: packet too short" + hint},
		{name: "may not write", sftp: only(sftpOpen, func([]byte) []byte { return status(3, "no") }), is: transport.ErrInstall,
			err: gzip + ", and the upload by SFTP failed: making .cache/ccm-push/." + fixedNonce + ": permission denied" + hint},
		{name: "talks too much", sftp: only(sftpOpen, func([]byte) []byte { return status(4, "\x1b[2J"+strings.Repeat("no ", 1000)) }), is: transport.ErrInstall,
			err: gzip + ", and the upload by SFTP failed: " + excerpt.Of("making .cache/ccm-push/."+fixedNonce+`: sftp: "\x1b[2J`+strings.Repeat("no ", 1000)+`" (SSH_FX_FAILURE)`, 2*transport.MaxQuoted) + hint},
		{name: "opens nothing", sftp: only(sftpOpen, func([]byte) []byte { return status(0, "") }), is: transport.ErrInstall,
			err: gzip + ", and the upload by SFTP failed: making .cache/ccm-push/." + fixedNonce + ": no answer" + hint},
		{name: "a file that is there", sftp: only(sftpOpen, func([]byte) []byte { return status(4, "Failure") }), is: transport.ErrInstall,
			err: gzip + ", and the upload by SFTP failed: making .cache/ccm-push/." + fixedNonce + `: sftp: "Failure" (SSH_FX_FAILURE)` + hint},
		{name: "does not write", sftp: only(sftpWrite, func([]byte) []byte { return status(4, "quota") }), is: transport.ErrInstall,
			err: writing + `sftp: "quota" (SSH_FX_FAILURE)` + hint},
		{name: "does not answer to writes", dumb: func(falls func()) sshtest.Option {
			return only(sftpWrite, func([]byte) []byte { falls(); return nil })
		}, is: transport.ErrTimeout, err: timeout},
		{name: "nothing, again and again", sftp: only(sftpRead, func([]byte) []byte { return text(sftpData, "") }), is: transport.ErrInstall,
			err: writing + "it reads back with another SHA-256" + hint},
		{name: "more than was asked for", sftp: only(sftpRead, func([]byte) []byte { return text(sftpData, strings.Repeat("x", 200<<10)) }), is: transport.ErrInstall,
			err: writing + "it reads back with another SHA-256" + hint},
		{name: "reads zeros without end", sftp: sshtest.SFTP(reply(agreeable).serve), is: transport.ErrInstall,
			err: writing + "it reads back with another SHA-256" + hint},
		{name: "reads less", sftp: only(sftpRead, func([]byte) []byte { return status(1, "") }), is: transport.ErrInstall,
			err: writing + "it reads back with another SHA-256" + hint},
		{name: "an answer that is none", sftp: only(sftpRead, func([]byte) []byte { return []byte{sftpData, 0xff, 0xff, 0xff, 0xff} }), is: transport.ErrInstall,
			err: writing + "reading it back: packet too short" + hint},
		{name: "agrees to what it is not asked", sftp: sshtest.SFTP(reply(func(kind byte, body []byte) []byte {
			if kind == sftpWrite || kind == sftpRemove || kind == sftpRmdir {
				return status(4, "no")
			}
			return agreeable(kind, body)
		}).serve), is: transport.ErrInstall, err: gzip + ", and the upload by SFTP failed: writing .cache/ccm-push/." + fixedNonce + ": unexpected answer of the SFTP server" + hint},
		{name: "does not close", dumb: func(falls func()) sshtest.Option {
			return only(sftpClose, func([]byte) []byte { falls(); return nil })
		}, is: transport.ErrTimeout, err: timeout},
		{name: "a link to somewhere else", is: transport.ErrInstall, err: elsewhere, sftp: swap(func(cached string) error {
			if err := os.Rename(cached, cached+".elsewhere"); err != nil {
				return err
			}
			return os.Symlink(cached+".elsewhere", cached)
		})},
		{name: "another size", is: transport.ErrInstall, err: elsewhere, sftp: swap(func(cached string) error { return os.Truncate(cached, b.Size-1) })},
		{name: "another mode", is: transport.ErrInstall, err: elsewhere, sftp: swap(func(cached string) error { return os.Chmod(cached, 0o755) })},
		{name: "gone", is: transport.ErrInstall, err: elsewhere, sftp: swap(os.Remove)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s silence
			if test.dumb != nil {
				test.sftp = test.dumb(s.falls)
			}
			srv := sshtest.Start(t, withoutGzip(t), test.sftp)
			p, err := s.start(t.Context(), connect(t, srv), fixedStart(b))
			require.Nil(t, p)
			require.Equal(t, test.err, masked(err, srv.Addr, "ADDR"))
			require.ErrorIs(t, err, test.is)
			require.False(t, transport.Unreachable(err))
		})
	}
}

// TestNoUpload has hosts without gzip that are not given the program over SFTP.
func TestNoUpload(t *testing.T) {
	const want = "web1: install ADDR: the host program was not installed: gzip is missing on the host (last tried %q)\n  hint: install gzip on the host"
	b := hello(t)
	b.OS, b.Arch = "linux", "amd64"
	for _, test := range []struct {
		name, dir string
		become    *Become
	}{
		{name: "sudo", dir: "/root/.cache/ccm-push", become: &Become{}},
		{name: "su", dir: "/tmp/ccm-push-1000", become: &Become{Method: "su"}},
		{name: "a directory of its own choice", dir: "/etc"},
		{name: "a directory that leads elsewhere", dir: "/tmp/ccm-push-0/../../etc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := sshtest.Start(t, shell("echo need $n linux amd64 nogzip "+test.dir))
			start := fixedStart(b)
			start.Become = test.become
			p, err := Program(t.Context(), connect(t, srv), start)
			require.Nil(t, p)
			require.Equal(t, fmt.Sprintf(want, test.dir), masked(err, srv.Addr, "ADDR"))
			require.EqualValues(t, 1, srv.Stats().Sessions)
		})
	}
	t.Run("local", func(t *testing.T) {
		env := sshtest.Config{}
		withoutGzip(t)(&env)
		c, home := local(t, env.Env...)
		_, err := Program(t.Context(), c, newStart(hello(t)))
		require.EqualError(t, err, fmt.Sprintf("me: install local: the host program was not installed: gzip is missing on the host (last tried %q)\n  hint: install gzip on the host", filepath.Join(home, cacheDir)))
	})
}

// TestUploadToAFullDisk has a disk on which there was room when the script looked.
func TestUploadToAFullDisk(t *testing.T) {
	skipUnlessRoot(t)
	home, bin := t.TempDir(), t.TempDir()
	mount(t, home, "size=640k")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "head"), []byte("#!/bin/sh\n"), 0o755))
	srv := sshtest.Start(t, withoutGzip(t, bin), sshtest.Home(home), openSSH(t))
	_, err := Program(t.Context(), connect(t, srv), newStart(ownBuild(t)))
	require.EqualError(t, err, fmt.Sprintf("web1: install %s: no space left on the host (last tried %q)\n  hint: about 10 MB are needed in ~/.cache/ccm-push, /var/tmp or /tmp", srv.Addr, filepath.Join(home, cacheDir)))
	require.ErrorIs(t, err, transport.ErrNoSpace)
	left, err := os.ReadDir(filepath.Join(home, cacheDir))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestUploadIsCut ends the connection wherever it may: nothing that is not whole is
// ever under the name of the build.
func TestUploadIsCut(t *testing.T) {
	b := hello(t)
	env := withoutGzip(t)
	whole := sshtest.Start(t, env)
	p, err := Program(t.Context(), connect(t, whole), newStart(b))
	require.NoError(t, err)
	requireEcho(t, p)
	total := whole.Stats().Sent
	for cut := int64(2000); cut < total; cut += total / 11 {
		srv := sshtest.Start(t, env, sshtest.KillAfter(cut))
		c, err := (&dial.Dialer{}).Dial(t.Context(), targetOf(srv))
		if err != nil {
			continue
		}
		p, err := Program(t.Context(), c, newStart(b))
		if err == nil {
			p.Close()
		} else {
			require.IsType(t, &transport.HostError{}, err)
			require.ErrorIs(t, err, transport.ErrLost, cut)
		}
		c.Close()
		program, err := os.ReadFile(filepath.Join(srv.Home, cacheDir, b.SHA256))
		if err == nil {
			require.True(t, bytes.Equal(unpack(t, b), program))
		}
		again := sshtest.Start(t, env, sshtest.Home(srv.Home))
		p, err = Program(t.Context(), connect(t, again), newStart(b))
		require.NoError(t, err)
		requireEcho(t, p)
	}
}

// FuzzUpload runs an SFTP server that answers each packet with arbitrary bytes.
func FuzzUpload(f *testing.F) {
	said := func(answers ...[]byte) (b []byte) {
		for _, a := range answers {
			b = append(append(b, byte(len(a))), a...)
		}
		return b
	}
	ok, handle := status(0, ""), text(sftpHandle, "h")
	f.Add(said(handle, ok, ok, text(sftpData, "a program"), status(1, ""), ok, ok))
	f.Add(said(handle, ok, status(4, "no"), ok, ok, ok))
	f.Add(said(ok, ok))
	f.Add(said(handle, ok, ok, []byte{sftpData, 0xff, 0xff, 0xff, 0xff}))
	f.Fuzz(func(t *testing.T, said []byte) {
		near, far := net.Pipe()
		var serving sync.WaitGroup
		serving.Go(func() {
			reply(func(byte, []byte) []byte {
				if len(said) == 0 || said[0] == 0 {
					far.Close()
					return nil
				}
				n := min(int(said[0]), len(said)-1)
				answer := slices.Clone(said[1 : 1+n])
				said = said[1+n:]
				if n == 0 {
					far.Close()
				}
				return answer
			}).serve("", far)
		})
		defer serving.Wait()
		client, err := sftp.NewClientPipe(near, near, sftp.UseConcurrentWrites(true))
		require.NoError(t, err)
		defer client.Close()
		b, err := packBuild([]byte("a program"))
		require.NoError(t, err)
		whole := bytes.Contains(said, []byte("a program"))
		err = put(client, cacheDir, b, testNonce, strings.NewReader("a program"), func() {})
		require.True(t, err != nil || whole, "it has not been read back")
	})
}
