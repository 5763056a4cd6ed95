//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFirstDial measures the time from the start of ccm-push until it dials the first of its hosts: except for
// reading the inventory, it must not grow with their number. Hosts of a range are two lines; the others are a line
// each, with an address, a user, a key and a known_hosts file.
func BenchmarkFirstDial(b *testing.B) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(b, err)
	defer listener.Close()
	dir := b.TempDir()
	require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
	s := startSim(b, dir, 1) // for its keys
	defer s.stop()
	port := listener.Addr().(*net.TCPAddr).Port
	connect := fmt.Sprintf("{address: 127.0.0.1, port: %d, user: sim, private_key: %s, known_hosts: %s}",
		port, filepath.Join(dir, "id"), filepath.Join(dir, "known_hosts"))
	lines := func(n int) string {
		var list strings.Builder
		list.WriteString("all:\n  hosts:\n")
		for i := range n {
			fmt.Fprintf(&list, "    sim%05d: {connect: %s}\n", i+1, connect)
		}
		return list.String()
	}
	for name, inventory := range map[string]string{
		"hosts=1":             lines(1),
		"hosts=10000":         lines(10_000),
		"hosts=10000/a-range": "all:\n  connect: " + connect + "\n  hosts:\n    sim[00001:10000]:\n",
	} {
		b.Run(name, func(b *testing.B) {
			write(b, filepath.Join(dir, "hosts.yaml"), inventory)
			for b.Loop() {
				cmd := pushCommand(b, dir, "-i", "hosts.yaml", "--forks", "1", "site.yaml")
				require.NoError(b, listener.SetDeadline(time.Now().Add(time.Minute)))
				require.NoError(b, cmd.Start())
				conn, err := listener.Accept()
				require.NoError(b, err)
				b.StopTimer()
				cmd.Process.Kill()
				cmd.Wait()
				conn.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkHostProgram measures the time from the start of the host program to its greeting, without facts and with the
// facts of the host.
func BenchmarkHostProgram(b *testing.B) {
	program := filepath.Join(b.TempDir(), "ccm-module")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "github.com/ccm-push/ccm-push/cmd/ccm-module")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	for _, facts := range []string{"-", "host"} {
		b.Run("facts="+facts, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(program, "serve", "nonce", facts)
				stdin, err := cmd.StdinPipe()
				require.NoError(b, err)
				stdout, err := cmd.StdoutPipe()
				require.NoError(b, err)
				require.NoError(b, cmd.Start())
				line, err := bufio.NewReader(stdout).ReadString('\n')
				require.NoError(b, err)
				require.Contains(b, line, `{"hello":{"nonce":"nonce"`)
				b.StopTimer()
				stdin.Close()
				require.NoError(b, cmd.Wait())
				b.StartTimer()
			}
		})
	}
}
